import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { median, type Timing } from '../measurement.ts';
import type { Delivered, FromService, Order } from './protocol.ts';

const ROUNDS = 9;
const SLICE_MS = 400;
/** V8 compiles what is called often, so every contender is warm after as many requests, not after as long. */
const WARM_UP_REQUESTS = 40_000;
const WARM_UP_MS = 500;
const CONNECTIONS = 16;

/** A service in a process of its own. */
export interface Service {
  readonly port: number;
  /** Processor time that its process has used, microseconds. */
  cpu(): Promise<number>;
  stop(): void;
}

/** Runs a file of services/. */
export async function start(file: string, ...settings: readonly string[]): Promise<Service> {
  const child = fork(join(import.meta.dirname, '..', 'services', `${file}.ts`), settings, { execArgv: [] });
  const { port } = await answer<Extract<FromService, { port: number }>>(child);
  return {
    port,
    cpu: async () => {
      child.send('cpu');
      return (await answer<Extract<FromService, { cpuMicroseconds: number }>>(child)).cpuMicroseconds;
    },
    stop: () => child.disconnect(),
  };
}

/** Sends load from a process of its own. */
export interface Generator {
  send(order: Order): Promise<Delivered>;
  stop(): void;
}

export function createGenerator(): Generator {
  const child = fork(join(import.meta.dirname, 'generator.ts'), [], { execArgv: [] });
  return {
    send: (order) => {
      child.send(order);
      return answer(child);
    },
    stop: () => child.disconnect(),
  };
}

async function answer<T>(child: ChildProcess): Promise<T> {
  const ended = new AbortController();
  const exit = () => ended.abort(new Error(`${child.spawnargs[1]} ended too early`));
  child.once('exit', exit);
  try {
    const [message] = await once(child, 'message', { signal: ended.signal });
    return message as T;
  } finally {
    child.off('exit', exit);
  }
}

/** Requests to a service, under the name that the figures get. */
export interface Contender {
  readonly name: string;
  readonly service: Service;
  readonly requests: readonly string[];
  /** Prepares the service for a slice. Resolves with a function that undoes it. */
  readonly within?: () => Promise<() => Promise<void>>;
}

/** What one contender took for a request, nanoseconds: by the clock while it was kept busy, and of its processor. */
export interface Outcome {
  readonly wall: Timing;
  readonly cpu: Timing;
  readonly answerBytes: number;
}

/**
 * Keeps each contender busy in turn, for moments that are short beside what the neighbours on the machine do, so that
 * all of them meet the same neighbours. Every second round goes the other way.
 */
export async function contest(
  contenders: readonly Contender[],
  { rounds = ROUNDS, sliceMs = SLICE_MS }: { rounds?: number; sliceMs?: number } = {},
): Promise<ReadonlyMap<string, Outcome>> {
  const generator = createGenerator();
  const slices = new Map(contenders.map(({ name }) => [name, [] as { wall: number; cpu: number; bytes: number }[]]));
  const slice = async ({ service, requests, within }: Contender, milliseconds: number) => {
    const undo = await within?.();
    const before = await service.cpu();
    const delivered = await generator.send({ port: service.port, requests, connections: CONNECTIONS, milliseconds });
    const cpu = (await service.cpu()) - before;
    await undo?.();
    return {
      wall: (delivered.milliseconds * 1e6) / delivered.requests,
      cpu: (cpu * 1000) / delivered.requests,
      bytes: delivered.answerBytes,
      requests: delivered.requests,
    };
  };
  for (const contender of contenders) {
    let requests = 0;
    while (requests < WARM_UP_REQUESTS) requests += (await slice(contender, WARM_UP_MS)).requests;
  }
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contenders : contenders.toReversed();
    for (const contender of order) slices.get(contender.name)!.push(await slice(contender, sliceMs));
  }
  generator.stop();
  return new Map(
    [...slices].map(([name, measured]) => [
      name,
      {
        wall: timing(
          `${name}, a request`,
          measured.map(({ wall }) => wall),
        ),
        cpu: timing(
          `${name}, processor time of it`,
          measured.map(({ cpu }) => cpu),
        ),
        answerBytes: measured.at(-1)!.bytes,
      },
    ]),
  );
}

export function timing(name: string, rounds: readonly number[]): Timing {
  const sorted = [...rounds].sort((a, b) => a - b);
  const quartile = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!;
  return { name, p25: quartile(0.25), p50: median(rounds), p75: quartile(0.75), rounds };
}

/** How many requests a contender answers for each that another one answers. */
export interface Comparison {
  readonly ratio: number;
  /** By the clock and by processor time. */
  readonly text: string;
}

/**
 * The median of what a round says: two contenders of one round met the same neighbours.
 * @param judge by which of the two. What a service that works without waiting answers in a second is what its processor
 * time allows, and that hardly depends on what else the machine does; one that waits for a disk goes by the clock.
 */
export function beside(one: Outcome, other: Outcome, judge: 'clock' | 'processor'): Comparison {
  const ratio = (of: Timing, to: Timing) => median(of.rounds.map((taken, round) => taken / to.rounds[round]!));
  const byClock = ratio(other.wall, one.wall);
  const byProcessor = ratio(other.cpu, one.cpu);
  return {
    ratio: judge === 'clock' ? byClock : byProcessor,
    text: `${byProcessor.toFixed(3)} by processor time, ${byClock.toFixed(3)} by the clock`,
  };
}

/** A GET, or with a body a POST of JSON. */
export function request(path: string, headers: Readonly<Record<string, string>> = {}, body?: string): string {
  const all = {
    Host: '127.0.0.1',
    Accept: 'application/json',
    ...headers,
    ...(body !== undefined && {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
    }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}
