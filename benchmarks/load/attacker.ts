// Floods a service: keeps connections busy or open, and comes again when one is closed. Tells how many answers it got.

import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Attack } from './protocol.ts';

const END_OF_HEADER = Buffer.from('\r\n\r\n');
const STREAMS = 10;
const host = '127.0.0.1';

let answers = 0;

function open(attack: Attack): void {
  const { port, protocol, request, stayMs, once = false } = attack;
  const socket: Socket =
    protocol === 'https' ? connectTls({ port, host, rejectUnauthorized: false }) : connect({ port, host });
  socket.setNoDelay(true).write(request, 'latin1');
  socket.on('data', (chunk: Buffer) => {
    if (!chunk.includes(END_OF_HEADER)) return;
    answers += 1;
    socket.write(request, 'latin1');
  });
  socket.on('error', () => undefined);
  if (stayMs !== undefined) socket.once('connect', () => setTimeout(() => socket.destroy(), stayMs));
  if (!once) socket.on('close', () => open(attack));
}

function openHttp2(attack: Attack): void {
  const session = connectHttp2(`https://${host}:${attack.port}`, { rejectUnauthorized: false });
  const request = () => {
    if (session.closed || session.destroyed) return;
    const stream = session.request({ ':path': attack.request });
    stream.on('response', () => {
      answers += 1;
    });
    stream.on('error', () => undefined);
    stream.on('close', request);
    stream.resume();
  };
  session.on('error', () => undefined);
  session.on('connect', () => {
    for (let stream = 0; stream < STREAMS; stream += 1) request();
  });
  session.on('close', () => openHttp2(attack));
}

process.on('message', (order: Attack | 'answers') => {
  if (order === 'answers') process.send?.(answers);
  else
    for (let count = 0; count < order.connections; count += 1)
      if (order.protocol === 'h2') openHttp2(order);
      else open(order);
});
process.on('disconnect', () => process.exit());
