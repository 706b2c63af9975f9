// What happens when, computed from the seed alone: the same seed is the same schedule on every machine.

export type StoreName = 'redis' | 'postgres' | 'sqlite';

/** Processes of the fleet. */
export const SIZE = 6;
/** The category that every process writes to all the time. */
export const LINES = 'LINES';
/** What is switched, for everybody or for one tenant. Short ones have only temporary controls that end during the run. */
export const KEYS: readonly { readonly category: string; readonly tenant?: string; readonly short?: true }[] = [
  ...['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L'].map((category) => ({ category })),
  ...['M', 'N', 'O', 'P'].map((category) => ({ category, tenant: 'acme' })),
  { category: 'SHORT', short: true },
  { category: 'SHORT_OWN', tenant: 'acme', short: true },
];

/** A process that could not run for longer than this says so, in milliseconds: on a quiet machine none has to. */
export const SLOW_MS = 250;

/** A round has a storm, in milliseconds, and then rest, in which it is judged: about 12 s together. */
const STORM_MS = 8000;
const ROUND_MS = 12_000;
/** A store that has lost everything is rare: what was before cannot be judged after it. */
const ROUNDS_PER_LOSS = 4;

export type Happening = ReturnType<typeof schedule>[number][number];
export type Operation = Extract<Happening, { type: 'operation' }>;
export type Fault = Extract<Happening, { type: 'fault' }>;
export type Reading = Extract<Happening, { type: 'tail' }>;

export function schedule(store: StoreName, seed: number, seconds: number) {
  const random = generator(seed);
  return Array.from({ length: Math.max(1, Math.round((seconds * 1000) / ROUND_MS)) }, (_, round) => [
    ...operations(random),
    ...faults(store, random, round),
    ...[random(0, 1000), random(1000, 4000)].map((at) => {
      // It ends at rest.
      const seconds = Math.ceil((STORM_MS - at) / 1000) + 3;
      return { type: 'tail' as const, at, process: random(0, SIZE - 1), seconds };
    }),
  ]);
}

/** Mulberry32: returns a function for whole numbers between two, inclusive. */
export function generator(seed: number) {
  let state = seed >>> 0;
  return (least: number, most: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return least + (((mixed ^ (mixed >>> 14)) >>> 0) % (most - least + 1));
  };
}
type Random = ReturnType<typeof generator>;

/** Of somebody who sends `action` for a category, at one process. */
function operations(random: Random) {
  const operation = (at: number, key: number, kind: string) => ({
    type: 'operation' as const,
    at,
    process: random(0, SIZE - 1),
    key,
    action: kind === 'reset' ? kind : kind.endsWith('off') ? ('disable' as const) : ('enable' as const),
    /** Permanent where there are none. */
    seconds: kind === 'short' ? random(1, 4) : kind.startsWith('long') ? 600 : undefined,
    /** The same request once more, from another process, after so many milliseconds. */
    repeat: random(1, 5) === 1 ? { process: random(0, SIZE - 1), after: random(50, 3000) } : undefined,
  });
  const all: ReturnType<typeof operation>[] = [];
  for (let at = 0; at < STORM_MS; at += random(50, 250)) {
    const key = random(0, KEYS.length - 1);
    const kinds = KEYS[key]?.short ? ['short', 'short', 'reset'] : ['on', 'off', 'long', 'long off', 'short', 'reset'];
    const kind = kinds[random(0, kinds.length - 1)] ?? '';
    all.push(operation(at, key, kind));
    // The end of a control that another one has replaced meanwhile must change nothing.
    if (kind === 'short' && !KEYS[key]?.short) all.push(operation(at + random(300, 2000), key, 'long'));
  }
  return all;
}

const NAMES = {
  network: ['delay', 'cut', 'blackhole', 'blackhole', 'kill', 'stop'],
  file: ['kill', 'stop'],
  store: ['restart', 'lock', 'empty'],
} as const;
type FaultName = (typeof NAMES)[keyof typeof NAMES][number];

/** Each process, and the store, has one fault at a time, and all are over at the end of the storm. */
function faults(store: StoreName, random: Random, round: number) {
  const fault = (at: number, lasts: number, name: FaultName, process?: number) => ({
    type: 'fault' as const,
    at,
    lasts,
    name,
    /** The store where it is none. */
    process,
    way: random(0, 1) === 0 ? ('up' as const) : ('down' as const),
    /** Of each way, where it is slow. */
    delay: random(50, 250),
  });
  const all: ReturnType<typeof fault>[] = [];
  const busy = new Map<number, number>();
  const names = NAMES[store === 'sqlite' ? 'file' : 'network'];
  for (let at = 300; at < STORM_MS - 1500; at += random(300, 1200)) {
    const slot = random(0, SIZE);
    const lasts = Math.min(random(300, slot === SIZE ? 3000 : 6000), STORM_MS - at - 500);
    if ((busy.get(slot) ?? 0) > at) continue;
    busy.set(slot, at + lasts + 2000);
    if (slot < SIZE) all.push(fault(at, lasts, names[random(0, names.length - 1)] ?? 'kill', slot));
    else all.push(fault(at, lasts, store === 'sqlite' ? 'lock' : 'restart'));
  }
  // A store that is down cannot be emptied.
  const free = (busy.get(SIZE) ?? 4000) - 500;
  if (store !== 'sqlite' && round % ROUNDS_PER_LOSS === ROUNDS_PER_LOSS - 1) all.push(fault(free, 0, 'empty'));
  return all;
}
