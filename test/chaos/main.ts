// Breaks a fleet of real processes and its real store by a schedule that is computed from a seed, and checks what
// docs/stores-and-fleets.md promises. It takes its time, so no tier runs it:
//
//     npm run chaos -- --store redis --seed 7 --seconds 60
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { trailOf } from '../fleet/processes.ts';
import { ownTime } from '../support/own-time.ts';
import { until } from '../support/until.ts';
import { Judge, PROMISES } from './judge.ts';
import { type Requested, request, type Tailed, tail } from './requests.ts';
import { type StoreName, schedule } from './schedule.ts';
import { createWorld } from './world.ts';

/** All processes have the same state within this time of the last fault, in milliseconds. */
const CONVERGED_MS = 5000;
/** In this time entries that had to wait for the store come into the trail, in milliseconds. */
const WRITTEN_MS = 2000;
/** Violations of each promise that are printed. */
const SHOWN = 5;

const defaults = { store: 'redis', seed: '1', seconds: '60' };
const options = Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: value }] as const);
const { store, seed, seconds } = parseArgs({ options: Object.fromEntries(options) }).values as typeof defaults;
const again = `npm run chaos -- --store ${store} --seed ${seed} --seconds ${seconds}`;
const rounds = schedule(store as StoreName, Number(seed), Number(seconds));

let slowest = 0;
let slowestRest = 0;
const counts = new Map<string, number>();
const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1);
const world = await createWorld(store as StoreName);
const judge = new Judge(world);

async function play(round: (typeof rounds)[number]): Promise<void> {
  const began = Date.now();
  const requests: Requested[] = [];
  const tails: Promise<Tailed | undefined>[] = [];
  const happening = round.map(async (event) => {
    await sleep(event.at);
    if (event.type === 'tail') tails.push(tail(world, event));
    else if (event.type === 'fault') {
      count(`fault: ${event.name}${event.name === 'blackhole' ? ` ${event.way}` : ''}`);
      await world.breaks(event);
    } else requests.push(...[await request(world, event)].filter((made) => made !== undefined));
  });
  await Promise.all(happening);
  const rest = Date.now();
  const waited = ownTime();
  const states = () => world.living().map(({ reports }) => reports.at(-1)?.states);
  await until('one state', () => new Set(states()).size === 1, 2 * CONVERGED_MS).catch(() => undefined);
  const took = Math.round(ownTime() - waited);
  slowestRest = Math.max(slowestRest, took);
  judge.check('converged', took <= CONVERGED_MS, () => `${took} ms: ${states()}`);
  await sleep(WRITTEN_MS);
  const trail = await until('the trail', () => trailOf(world.living()[0]!.process).catch(() => undefined));
  judge.round(requests, began, rest, trail);
  for (const { operation, attempts } of requests) {
    for (const { outcome, life, start, end } of attempts) {
      count(`${operation.action}: ${outcome}`);
      if (!life.stopped.some(({ from, to }) => from < end && to > start)) slowest = Math.max(slowest, end - start);
    }
  }
  for (const tailed of await Promise.all(tails)) {
    if (tailed === undefined) continue;
    count(tailed.whole ? 'tail: ended in time' : 'tail: its process was killed');
    judge.tail(tailed);
  }
}

try {
  for (const round of rounds) await play(round);
  judge.ends();
} finally {
  console.log(`Again: ${again}\n`);
  await world.close();
}
judge.check('ended', world.endings.length === 0, () => world.endings.join('; '));

const starved = world.lives.flatMap((life) => life.starved.map(({ from, to }) => to - from));
counts.set('times that a process had to wait for the machine', starved.length);
counts.set('longest of them, in ms', Math.max(0, ...starved));
counts.set('slowest answer of a process that was not stopped, in ms', slowest);
counts.set('slowest convergence, in ms', slowestRest);
for (const [what, number] of [...counts].sort()) console.log(what.padEnd(60), String(number).padStart(6));
console.log(`\n${'promise'.padEnd(60)} judged broken`);
const broken = Object.entries(PROMISES).map(([name, promise]) => {
  const violations = judge.violations.filter((each) => each.promise === name);
  const judged = judge.judged.get(name as keyof typeof PROMISES) ?? 0;
  console.log(promise.padEnd(60), String(judged).padStart(6), String(violations.length).padStart(6));
  return violations.slice(0, SHOWN).map(({ what }) => `\n${promise}: ${what}`);
});
console.log(...broken.flat());
process.exitCode = judge.violations.length === 0 ? 0 : 1;
