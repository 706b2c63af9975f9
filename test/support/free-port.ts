import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to connections and to whoever listens on port 0: none of those takes it before the program
 * that it is for does. So is the port 10,000 above it, on which the nodes of a Redis cluster talk.
 */
const FIRST = 12_000;
const COUNT = 10_000;

/** Test processes that run side by side begin in different places. */
let next = process.pid * 16;

/** A port that is free, and is given out once, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + (next++ % COUNT);
    const probe = createServer().listen(port);
    try {
      await once(probe, 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
