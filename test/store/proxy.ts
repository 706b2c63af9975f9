import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** A way to a server on this machine that a test cuts and mends. @param heldMs how long nothing passes at first */
export async function startProxy(port: number, heldMs = 0) {
  let target = port;
  const opened = setTimeout(heldMs);
  const sockets = new Set<Socket>();
  let server: Server;
  function accept(socket: Socket): void {
    const onward = connect(target, '127.0.0.1');
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => {});
      end.on('close', () => {
        sockets.delete(end);
        socket.destroy();
        onward.destroy();
      });
    }
    void opened.then(() => socket.pipe(onward).pipe(socket));
  }
  async function listen(port: number): Promise<number> {
    server = createServer(accept).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as { port: number }).port;
  }
  async function cut(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((closed) => server.close(closed));
  }
  /** From now on it leads to another server; connections to the first one are cut. */
  function lead(elsewhere: number): void {
    target = elsewhere;
    for (const socket of sockets) socket.destroy();
  }
  const own = await listen(0);
  return { port: own, cut, lead, mend: () => listen(own), close: cut };
}
