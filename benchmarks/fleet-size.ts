// What a fleet costs its store, by its size: how soon a change is acknowledged by all, what the store does in an idle second and for
// a change, while all members are restarted and changes go on, and how many connections it holds. Members are simulated, several
// in a process: their own work takes the processor from each other, which it does not on hosts of their own. Needs redis-server,
// and PostgreSQL for its rows. FLEET_SIZES names other sizes, FLEET_STORES one of the stores.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Position } from '../src/store/state-store.ts';
import { change as changeOf } from '../test/store/contract/samples.ts';
import { startRedis } from '../test/store/redis-server.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { join } from './fleet-size-members.ts';
import { percentile, publish, type Timing, timing, type Verdict, verdict } from './measurement.ts';

const STORES = (process.env.FLEET_STORES ?? 'redis,postgres').split(',');
const SIZES = process.env.FLEET_SIZES?.split(',').map(Number);
const DEFAULT_SIZES = { redis: [50, 200, 1000], postgres: [50, 200] };
const MEMBERS_PER_PROCESS = 2500;
const CHANGES = Number(process.env.FLEET_CHANGES ?? 30);
/** While members are simulated, one process compiles the code of thousands; on hosts of their own each starts with its own. */
const WARM_UP_CHANGES = 10;
/** Joining at once is for a crash of everything; a deployment takes its time. */
const JOIN_MS = Number(process.env.FLEET_JOIN_SECONDS ?? 5) * 1000;
const IDLE_MS = Number(process.env.FLEET_IDLE_SECONDS ?? 10) * 1000;
const SETTLE_MS = 5000;
/** Time between two announcements of a member, for each member of a large fleet. It learns of a larger one by an announcement. */
const BEAT_MS_PER_MEMBER = 3;
/** Changes while all members restart. */
const RESTART_CHANGES = 10;
const PAUSE_MS = 250;

/** What a server has done so far, and holds. */
interface Counters {
  /** Commands within scripts included; statements of PostgreSQL. */
  readonly commands: number;
  readonly processorMs: number;
  readonly connections: number;
  readonly memoryMiB: number;
}

interface Server {
  readonly url: string;
  counters(): Counters;
  close(): Promise<void>;
}

const number = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);

async function redis(size: number): Promise<Server> {
  const server = await startRedis('--maxclients', String(size * 2 + 100));
  return {
    url: server.url,
    counters() {
      const info = server.command('INFO', 'everything');
      const calls = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].filter(
        ([, name = '']) => !/^(info|auth)/.test(name),
      );
      const seconds = number(info, /^used_cpu_user:([\d.]+)/m) + number(info, /^used_cpu_sys:([\d.]+)/m);
      return {
        commands: calls.reduce((sum, [, , count]) => sum + Number(count), 0),
        processorMs: seconds * 1000,
        connections: number(info, /^connected_clients:(\d+)/m) - 1,
        memoryMiB: number(info, /^used_memory_rss:(\d+)/m) / 2 ** 20,
      };
    },
    close: () => server.close(),
  };
}

async function postgres(size: number): Promise<Server> {
  const server = await startPostgres(`max_connections=${size + 20}`);
  return {
    url: server.url,
    counters() {
      const [statements = '', pids = ''] = server
        .sql(`SELECT sum(xact_commit) FROM pg_stat_database; SELECT string_agg(pid::text, ' ') FROM pg_stat_activity`)
        .split('\n');
      const processes = pids.split(' ').map((pid) => ({ pid, ...usage(pid) }));
      return {
        commands: Number(statements),
        processorMs: processes.reduce((sum, { processorMs }) => sum + processorMs, 0),
        connections:
          Number(server.sql(`SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'`)) - 1,
        memoryMiB: processes.reduce((sum, { memoryMiB }) => sum + memoryMiB, 0),
      };
    },
    close: () => server.close(),
  };
}

/** Of one process of Linux, whose tick is 10 ms. Memory that processes share is divided among them. */
function usage(pid: string) {
  try {
    const ticks = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const memory = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return {
      processorMs: 10 * (Number(ticks[11]) + Number(ticks[12])),
      memoryMiB: number(memory, /^Pss:\s+(\d+)/m) / 1024,
    };
  } catch {
    return { processorMs: 0, memoryMiB: 0 };
  }
}

/** The answer of members to a message. Any end of theirs is a failure, after which it would be waited for in vain. */
async function answered(child: ChildProcess, message: string): Promise<number[]> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`members ended with ${code}`)));
  const answer = once(child, 'message') as Promise<[number[]]>;
  child.send(message);
  return (await Promise.race([answer, ended]))[0];
}

/** What was done between two readings, for each of `seconds`. */
function spent(before: Counters, after: Counters, seconds: number) {
  return {
    commands: Math.round((after.commands - before.commands) / seconds),
    processorMs: Math.round(((after.processorMs - before.processorMs) / seconds) * 10) / 10,
  };
}

async function measure(name: 'redis' | 'postgres', size: number) {
  const server = await { redis, postgres }[name](size);
  const children: ChildProcess[] = [];
  try {
    const author = await join(server.url, 'author');
    for (let from = 1; from < size; from += MEMBERS_PER_PROCESS) {
      const count = String(Math.min(MEMBERS_PER_PROCESS, size - from));
      const args = ['members', server.url, count, String(JOIN_MS)];
      children.push(fork(joinPath(import.meta.dirname, 'fleet-size-members.ts'), args, { execArgv: [] }));
    }
    const tell = (text: string) => Promise.all(children.map((child) => answered(child, text)));
    await tell('join');
    while ((await author.fleet.acknowledged())?.instances !== size) await sleep(500);

    let revision = 0;
    /** Resolves with the change's position when the store has it. */
    const change = async () => {
      const settings = { CHECKOUT: { permanent: revision % 2 === 0 } };
      const result = await author.store.commit(changeOf('acme', revision, settings));
      if (result.outcome !== 'committed') throw new Error(`change ${revision}: ${result.outcome}`);
      revision += 1;
      return result.position;
    };
    const acknowledge = async (position: Position | undefined) => {
      const summary = await author.fleet.acknowledged(position);
      if (summary?.applied !== size) throw new Error(`${summary?.applied} of ${size} have applied change ${revision}`);
    };
    // With a change, members learn the size of the fleet, which grew while they joined.
    for (let round = 0; round < WARM_UP_CHANGES; round += 1) await acknowledge(await change());
    await sleep(SETTLE_MS + BEAT_MS_PER_MEMBER * size);
    const idleFrom = server.counters();
    const idleAt = performance.now();
    await sleep(Math.max(IDLE_MS, BEAT_MS_PER_MEMBER * size));
    const idle = spent(idleFrom, server.counters(), (performance.now() - idleAt) / 1000);

    const took: number[] = [];
    const before = server.counters();
    const changesAt = performance.now();
    for (let round = 0; round < CHANGES; round += 1) {
      const begun = performance.now();
      await acknowledge(await change());
      took.push(performance.now() - begun);
      await sleep(PAUSE_MS);
    }
    const changed = server.counters();
    const idleSeconds = (performance.now() - changesAt) / 1000;

    const restartAt = performance.now();
    let isRestarting = true;
    const restarted = tell('restart').finally(() => {
      isRestarting = false;
    });
    while (isRestarting) {
      await change();
      await sleep(JOIN_MS / RESTART_CHANGES);
    }
    await restarted;
    const restarting = spent(changed, server.counters(), (performance.now() - restartAt) / 1000);
    await acknowledge(await change());
    const revisions = await tell('revisions');
    if (revisions.flat().some((applied) => applied !== revision))
      throw new Error('a member has not applied every change');
    const perChange = {
      commands: Math.round((changed.commands - before.commands - idle.commands * idleSeconds) / CHANGES),
      processorMs: Math.round((changed.processorMs - before.processorMs - idle.processorMs * idleSeconds) / CHANGES),
    };
    return { name, size, took, idle, perChange, restarting, ...changed };
  } finally {
    for (const child of children) child.kill();
    await server.close();
  }
}

const ms = (value: number) => `${value.toFixed(0)} ms`;
const timings: Timing[] = [];
const verdicts: Verdict[] = [];
for (const name of ['redis', 'postgres'] as const) {
  if (!STORES.includes(name)) continue;
  for (const size of SIZES ?? DEFAULT_SIZES[name]) {
    const { took, idle, perChange, restarting, connections, memoryMiB } = await measure(name, size);
    const [p50, p99] = [percentile(took, 0.5), percentile(took, 0.99)];
    console.log(
      [
        `${name}, ${size} members: acknowledged by all in ${ms(p50)} (p99 ${ms(p99)})`,
        `idle ${idle.commands} commands/s and ${(idle.processorMs / 10).toFixed(1)} % of a core`,
        `a change ${perChange.commands} commands and ${perChange.processorMs} ms of the store's processor`,
        // What a connection of PostgreSQL did is no longer known once it has ended.
        ...(name === 'redis'
          ? [`restarting in ${JOIN_MS / 1000} s ${(restarting.processorMs / 10).toFixed(0)} % of a core`]
          : []),
        `${connections} connections, ${memoryMiB.toFixed(0)} MiB`,
      ].join('; '),
    );
    timings.push(timing(`${name}, ${size} members: until all have acknowledged`, took));
    const limit = name === 'redis' ? 1000 : 1500;
    verdicts.push(
      verdict(`${name}, ${size} members: acknowledged, p99`, `<= ${limit} ms`, ms(p99), p99 <= limit, p99),
      verdict(
        `${name}, ${size} members: idle`,
        `<= ${name === 'redis' ? '1000 together' : '1 a member'} a second`,
        `${idle.commands} a second`,
        idle.commands <= (name === 'redis' ? 1000 : size * 1.1),
        idle.commands,
      ),
    );
  }
}
publish({ timings, verdicts });
