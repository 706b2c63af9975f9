// An application that tries configurations which cannot be used, bears it, and has nothing else to do. It tells its parent
// what each attempt has left behind, once that can be no less, and ends because nothing keeps it.
import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Every interval that was set and not cleared, also those that keep no process alive. */
const intervals = new Set<unknown>();
const { setInterval: set, clearInterval: clear } = globalThis;
globalThis.setInterval = ((...args: Parameters<typeof set>) => {
  const timer = set(...args);
  intervals.add(timer);
  return timer;
}) as typeof set;
globalThis.clearInterval = (timer) => {
  intervals.delete(timer);
  clear(timer);
};

const { category } = await import('opentelemetry-instrumentation-rdcp/api');
const { createRdcp } = await import('opentelemetry-instrumentation-rdcp');

export interface Attempt {
  readonly name: string;
  readonly config: object;
}

export interface LeftBehind {
  readonly name: string;
  readonly error: string;
  readonly intervals: number;
  /** Files of a store, and sockets, that are still open. */
  readonly files: readonly string[];
  readonly categoryOn: boolean;
}

const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`);
      return /state\.db|^socket:/.test(file) ? [file] : [];
    } catch {
      return [];
    }
  });

async function attempt({ name, config }: Attempt): Promise<LeftBehind> {
  let error = 'none';
  // What an earlier attempt has left behind was told of it.
  intervals.clear();
  const filesBefore = openFiles().length;
  try {
    const rdcp = createRdcp(config);
    try {
      await rdcp.listen();
    } finally {
      await rdcp.close();
    }
  } catch (thrown) {
    error = (thrown as Error).message;
  }
  const deadline = performance.now() + 30_000;
  const isClean = () => intervals.size === 0 && openFiles().length <= filesBefore;
  while (performance.now() < deadline && !isClean()) await sleep(10);
  return {
    name,
    error,
    intervals: intervals.size,
    files: openFiles().slice(filesBefore),
    categoryOn: category('LEFT_ON').enabled,
  };
}

const left: LeftBehind[] = [];
for (const each of JSON.parse(process.argv[2] ?? '[]') as Attempt[]) left.push(await attempt(each));
process.send?.(left);
process.disconnect();
