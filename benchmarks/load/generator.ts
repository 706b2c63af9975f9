// Sends requests over keep-alive connections and counts the answers. It knows just enough of HTTP to do so, because its
// own work is done on the same machine as what it measures.

import { connect, type Socket } from 'node:net';
import type { Delivered, Order } from './protocol.ts';

/** How often a load of a given rate looks for what is due, in milliseconds. */
const TICK_MS = 1;

const END_OF_HEADER = Buffer.from('\r\n\r\n');
const EMPTY = Buffer.alloc(0);

/** One connection with one request at a time. It is opened again when the service closes it. */
class Connection {
  readonly #port: number;
  readonly #answered: (connection: Connection, bodyBytes: number) => void;
  #socket: Socket;
  #received: Buffer = EMPTY;
  #pending: string | undefined;
  #closed = false;

  constructor(port: number, answered: (connection: Connection, bodyBytes: number) => void) {
    this.#port = port;
    this.#answered = answered;
    this.#socket = this.#open();
  }

  send(request: string): void {
    this.#pending = request;
    this.#socket.write(request, 'latin1');
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #open(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#closed) return;
      this.#received = EMPTY;
      this.#socket = this.#open();
      if (this.#pending !== undefined) this.#socket.write(this.#pending, 'latin1');
    });
    return socket;
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = this.#received.indexOf(END_OF_HEADER);
    if (end === -1) return;
    const header = this.#received.toString('latin1', 0, end);
    const bodyBytes = Number(/\r\ncontent-length: (\d+)/i.exec(header)?.[1]);
    if (this.#received.length < end + END_OF_HEADER.length + bodyBytes) return;
    if (!header.startsWith('HTTP/1.1 200 ')) throw new Error(`answered ${this.#received.toString('latin1')}`);
    this.#received = EMPTY;
    this.#pending = undefined;
    // A further request on it would be refused: `close` above opens another, and sends what is pending by then.
    if (/^connection: close$/im.test(header)) this.#socket.destroy();
    this.#answered(this, bodyBytes);
  }
}

let sent = 0;

function run({ port, requests, connections, milliseconds, perSecond }: Order): Promise<Delivered> {
  const { promise, resolve } = Promise.withResolvers<Delivered>();
  const latencies: number[] = [];
  const idle: Connection[] = [];
  const due = new Map<Connection, number>();
  let answered = 0;
  let answerBytes = 0;
  let started = 0;
  const start = performance.now();

  const next = () => {
    sent += 1;
    return requests[sent % requests.length]!.replace('{n}', String(sent));
  };
  const startDue = (now: number) => {
    for (let dueAt = dueTime(); dueAt <= now; dueAt = dueTime()) {
      const connection = idle.pop();
      if (connection === undefined) return;
      started += 1;
      due.set(connection, dueAt);
      connection.send(next());
    }
  };
  const dueTime = () => start + (started * 1000) / (perSecond ?? Number.POSITIVE_INFINITY);

  const all = Array.from(
    { length: connections },
    () =>
      new Connection(port, (connection, bodyBytes) => {
        answered += 1;
        answerBytes = bodyBytes;
        if (perSecond === undefined) return connection.send(next());
        const now = performance.now();
        latencies.push(now - due.get(connection)!);
        idle.push(connection);
        startDue(now);
      }),
  );
  if (perSecond === undefined) for (const connection of all) connection.send(next());
  else idle.push(...all);
  const ticking = perSecond === undefined ? undefined : setInterval(() => startDue(performance.now()), TICK_MS);

  // Never asleep: to wake a process that waits costs whoever sends to it more than an answer does, and the faster service
  // would be spared it.
  let awake = perSecond === undefined;
  const stayAwake = () => {
    if (awake) setImmediate(stayAwake);
  };
  stayAwake();

  setTimeout(() => {
    awake = false;
    clearInterval(ticking);
    for (const connection of all) connection.close();
    resolve({
      requests: answered,
      milliseconds: performance.now() - start,
      answerBytes,
      latencies: latencies.sort((a, b) => a - b),
    });
  }, milliseconds);
  return promise;
}

process.on('message', async (order: Order) => process.send?.(await run(order)));
process.on('disconnect', () => process.exit());
