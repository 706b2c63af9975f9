import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** Which way bytes go: to the server, or from it. */
export type Way = 'up' | 'down';

/** A way to a server on this machine that a test cuts, slows down and mends. @param heldMs how long nothing passes at first */
export async function startProxy(port: number, heldMs = 0) {
  let target = port;
  let delayMs = 0;
  const opened = setTimeout(heldMs);
  const held = new Map<Way, PromiseWithResolvers<void>>();
  const sockets = new Set<Socket>();
  let server: Server;
  function accept(socket: Socket): void {
    const onward = connect(target, '127.0.0.1');
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => {});
      end.on('close', () => sockets.delete(end));
    }
    pass(socket, onward, 'up');
    pass(onward, socket, 'down');
  }
  function pass(from: Socket, to: Socket, way: Way): void {
    let passed = opened;
    const after = (then: () => void) => {
      const arrives = delayMs === 0 ? undefined : setTimeout(delayMs);
      passed = passed.then(async () => {
        await arrives;
        while (held.has(way)) await held.get(way)?.promise;
        then();
      });
    };
    from.on('data', (bytes) => after(() => to.write(bytes)));
    // As in a network, what was sent arrives although its sender has given up waiting.
    from.on('close', () => after(() => to.destroySoon()));
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
  /** From now on nothing arrives one way, although connections stay open and are accepted, until {@link release} is called. */
  function hold(way: Way): () => void {
    held.set(way, Promise.withResolvers());
    return release;
  }
  /** Lets pass what was held. */
  function release(): void {
    const ended = [...held.values()];
    held.clear();
    for (const { resolve } of ended) resolve();
  }
  /** From now on each way takes so long. */
  function delay(milliseconds: number): void {
    delayMs = milliseconds;
  }
  const own = await listen(0);
  return { port: own, cut, lead, hold, release, delay, mend: () => listen(own), close: cut };
}
