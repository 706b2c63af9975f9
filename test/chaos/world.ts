import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MemberProcess, startMember } from '../fleet/processes.ts';
import { startProxy } from '../store/proxy.ts';
import { startRedis } from '../store/redis-server.ts';
import { startPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { type Fault, SIZE, SLOW_MS, type StoreName } from './schedule.ts';

/** How long a process may take to end, in milliseconds. */
const END_MS = 15_000;

/** What the gate of a process says: a character for each key. */
interface Report {
  readonly at: number;
  readonly states: string;
}

/** A process, from its start to its end. */
export interface Life {
  readonly slot: number;
  readonly process: MemberProcess;
  readonly from: number;
  to: number;
  readonly reports: Report[];
  readonly stopped: Span[];
  /** When the machine did not let it run for a while. */
  readonly starved: Span[];
}

interface Span {
  readonly from: number;
  readonly to: number;
}

export const isOn = ({ reports }: Life, key: number, at: number): boolean =>
  reports.findLast((report) => report.at <= at)?.states[key] === '1';

interface Server {
  readonly url: string;
  /** @default there is no network between a process and the store */
  readonly port?: number;
  kill(): unknown;
  start(): unknown;
  empty?(): unknown;
  close(): unknown;
}

const STORES: Readonly<Record<StoreName, () => Promise<Server>>> = {
  async redis() {
    // What it has acknowledged it has after a restart.
    const server = await startRedis('--appendonly', 'yes', '--appendfsync', 'always');
    // While it loads what it had saved, it refuses.
    return { ...server, empty: () => until('the loss', () => server.command('FLUSHALL') === 'OK', 20_000) };
  },
  async postgres() {
    const server = await startPostgres();
    return { ...server, empty: () => server.sql('DROP SCHEMA rdcp CASCADE') };
  },
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'rdcp-chaos-'));
    const path = join(folder, 'state.db');
    let locker: DatabaseSync | undefined;
    return {
      url: `sqlite:${path}`,
      async kill() {
        locker = new DatabaseSync(path, { timeout: 0 });
        // A process that was stopped may have the lock.
        await until('the lock', () => isLocked(locker), 20_000);
      },
      start: () => locker?.close(),
      close: () => rmSync(folder, { recursive: true, force: true }),
    };
  },
};

function isLocked(database: DatabaseSync | undefined): boolean {
  try {
    database?.exec('BEGIN IMMEDIATE');
    return true;
  } catch {
    return false;
  }
}

/** The store, and the processes that share it, each with a proxy of its own before it. */
export async function createWorld(name: StoreName) {
  const store = await STORES[name]();
  const { port } = store;
  const proxies = await Promise.all(
    Array.from({ length: SIZE }, () => (port === undefined ? undefined : startProxy(port))),
  );
  const lives: Life[] = [];
  /** Processes that ended by themselves, or did not end as they should. */
  const endings: string[] = [];
  /** When the store lost everything. */
  const losses: number[] = [];
  let closing = false;

  async function start(slot: number): Promise<void> {
    const url = port === undefined ? store.url : store.url.replace(`:${port}`, `:${proxies[slot]?.port}`);
    const config = { store: url, tenancy: { isolation: 'organization' } } as const;
    const process = await startMember(config, join(import.meta.dirname, 'member.ts'));
    const life: Life = {
      slot,
      process,
      from: Date.now(),
      to: Number.POSITIVE_INFINITY,
      reports: [],
      stopped: [],
      starved: [],
    };
    process.onMessage((message) => {
      const { gap, ...report } = message as Report & { readonly gap: number };
      life.reports.push(report);
      const from = report.at - gap;
      const wasStopped = life.stopped.some((stop) => stop.to > from);
      if (gap > SLOW_MS && !wasStopped) life.starved.push({ from, to: report.at });
    });
    lives.push(life);
    void process.exited.then((code) => {
      if (life.to < Number.POSITIVE_INFINITY || closing) return;
      endings.push(`process ${slot} ended by itself with ${code}`);
      life.to = Date.now();
    });
  }

  const living = () => lives.filter(({ to }) => to === Number.POSITIVE_INFINITY);
  const inSlot = (slot: number) => living().find((life) => life.slot === slot);

  /** Resolves when the fault is over. */
  async function breaks({ name, process: slot, way, delay, lasts }: Fault): Promise<void> {
    const proxy = slot === undefined ? undefined : proxies[slot];
    const life = slot === undefined ? undefined : inSlot(slot);
    if (slot !== undefined && life === undefined) return;
    const from = Date.now();
    const faults: Readonly<Record<Fault['name'], readonly [begin: () => unknown, end?: () => unknown]>> = {
      delay: [() => proxy?.delay(delay), () => proxy?.delay(0)],
      cut: [() => proxy?.cut(), () => proxy?.mend()],
      blackhole: [() => proxy?.hold(way), () => proxy?.release()],
      stop: [() => life?.process.signal('SIGSTOP'), () => life?.process.signal('SIGCONT')],
      kill: [() => life?.process.kill(), () => start(slot ?? 0)],
      restart: [store.kill, store.start],
      lock: [store.kill, store.start],
      empty: [() => store.empty?.()],
    };
    const [begin, end] = faults[name];
    if (name === 'kill' && life !== undefined) life.to = from;
    await begin();
    if (name === 'empty') losses.push(Date.now());
    await sleep(lasts);
    if (name === 'stop') life?.stopped.push({ from, to: Date.now() });
    await end?.();
  }

  /** Ends all processes as an operator does. */
  async function close(): Promise<void> {
    closing = true;
    for (const { slot, process } of living()) {
      const code = await Promise.race([process.end().then(() => process.exited), sleep(END_MS)]);
      if (code !== 0) endings.push(`process ${slot} ended with ${code ?? 'nothing in time'}`);
      await process.kill();
    }
    for (const proxy of proxies) await proxy?.close();
    await store.close();
  }

  await Promise.all(Array.from({ length: SIZE }, (_, slot) => start(slot)));
  return { lives, living, inSlot, breaks, endings, losses, close };
}

export type World = Awaited<ReturnType<typeof createWorld>>;
