import cluster, { type Worker } from 'node:cluster';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Longest that a shop may take to close. */
const PATIENCE_MS = 15_000;

export interface Shops {
  /** Process ids of those that run. */
  pids(): number[];
  /** Resolves when none is left. */
  readonly ended: Promise<void>;
  /** Every order answered, every process gone. */
  close(): Promise<void>;
}

/**
 * The shop of the other example, as it is, in several processes: node:cluster lets all of them listen on the same ports, for
 * orders and for remote control.
 * @param say called with every line of debug output, and the process that wrote it
 */
export function startShops(count: number, env: NodeJS.ProcessEnv, say: (line: string) => void): Shops {
  // The system hands each connection to a process that accepts it. By turns, one that is stopped would get some, too.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: fileURLToPath(import.meta.resolve('./worker.ts')),
    execArgv: ['--import', import.meta.resolve('opentelemetry-instrumentation-rdcp/register')],
    silent: true,
  });
  const running = new Map<number, Worker>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  for (let index = 0; index < count; index += 1) {
    const worker = cluster.fork({ ...env, SHOP_SEED: String(index + 1) });
    const pid = worker.process.pid ?? 0;
    running.set(pid, worker);
    worker.once('exit', (code, signal) => {
      running.delete(pid);
      if (code !== 0) say(`[${pid}] has ended: ${signal ?? code}`);
      if (running.size === 0) end();
    });
    // Each would print what to try with one shop.
    worker.process.stdout?.resume();
    const { stderr } = worker.process;
    if (stderr === null) continue;
    createInterface({ input: stderr }).on('line', (line) => {
      // The address of the remote control is printed once for all.
      if (!line.startsWith('rdcp: remote control on ')) say(`[${pid}] ${line}`);
    });
  }
  return {
    pids: () => [...running.keys()],
    ended,
    async close() {
      if (running.size === 0) return;
      signal(running.keys(), 'SIGCONT', 'SIGTERM');
      await Promise.race([ended, sleep(PATIENCE_MS, undefined, { ref: false })]);
      signal(running.keys(), 'SIGKILL');
    },
  };
}

/** A stopped process takes no signal until it continues. */
function signal(pids: Iterable<number>, ...signals: readonly NodeJS.Signals[]): void {
  for (const pid of [...pids]) for (const each of signals) process.kill(pid, each);
}
