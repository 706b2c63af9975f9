// How soon an operator reads the lines of a fleet of 8 on one Redis, and what a category that is off costs while another one is
// tailed, or measured by a forecast. Needs redis-server, or REDIS_URL.

import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { do_not_optimize } from 'mitata';
import { generateApiKey, hashApiKey } from '../src/access/api-key.ts';
import { built, type Candidate, internals, percentile, publish, ratio, time, timing, verdict } from './measurement.ts';
import { openRedis } from './redis.ts';

const PROCESSES = 8;
const TAILS = 20;
const LINES = 2000;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const { createRdcpClient }: typeof import('../src/client.ts') = await import(built('client.js'));

/** From the request to the first line of another process, and from each call to the reader, in milliseconds. */
async function readFleet() {
  const key = generateApiKey({ env: 'bench', randomBytes });
  const redis = await openRedis();
  const members: ChildProcess[] = Array.from({ length: PROCESSES }, () =>
    fork(join(import.meta.dirname, 'tail-member.ts'), [redis.url, hashApiKey(key)], { execArgv: [] }),
  );
  try {
    const [started] = await Promise.all(
      members.map(async (member) => (await once(member, 'message'))[0] as { address: string }),
    );
    const client = createRdcpClient({ baseUrl: started?.address ?? '', apiKey: key });
    for (let seen = 0; seen < PROCESSES; await sleep(100))
      seen = (await client.status()).otelrdcp_fleet?.instances ?? 0;
    const first: number[] = [];
    for (let round = 0; round < TAILS; round++) {
      const asked = now();
      const from = new Set<string>();
      for await (const { event, data } of client.tail('CHECKOUT', { rate: 1000 })) {
        if (event !== 'line') continue;
        from.add(data.instance);
        if (from.size < PROCESSES) continue;
        first.push(now() - asked);
        break;
      }
    }
    const lines: number[] = [];
    for await (const { event, data } of client.tail('CHECKOUT', { rate: 1000, lines: LINES })) {
      if (event === 'line') lines.push(now() - Number(data.attributes.at));
    }
    return { first, lines };
  } finally {
    for (const member of members) member.kill();
    redis.close();
  }
}

const { GateCore, Relay, sinkOf, createTelemetry, systemClock, WorkFollower } = await internals();

/** A category that is off, in a process where the relay does something with another one. */
function offBeside(name: string, begin: (relay: InstanceType<typeof Relay>) => unknown): Candidate {
  const gate = new GateCore();
  const off = gate.category('CHECKOUT');
  gate.category('DATABASE');
  const sink = sinkOf({ telemetry: createTelemetry(), clock: systemClock, writeLine: () => undefined });
  gate.attach({ sink, maxCategories: 4096, registered: () => undefined, failed: () => undefined });
  begin(
    new Relay({
      gate,
      addTap: sink.addTap,
      recorder: sink.recorder,
      past: sink.recorder.past,
      service: () => 'benchmark',
      work: new WorkFollower(gate.work),
      budgetOf: sink.budgets.configured,
      tails: true,
      whileChosen: (_choice, begin) => begin(),
      instanceId: 'benchmark',
      clock: systemClock,
      schedule: () => () => undefined,
      random: Math.random,
      randomUUID,
    }),
  );
  return { name, call: () => do_not_optimize(off.debug('m', { a: 1 })) };
}

const ALONE = 'a call of a category that is off';
const TAILED = 'the same while another category is tailed';
const MEASURED = 'the same while a forecast of another category runs';
const categories = ['DATABASE'];

const { first, lines } = await readFleet();
const timings = await time([
  offBeside(ALONE, () => undefined),
  offBeside(TAILED, (relay) =>
    relay.tail({ categories, rate: 100, log: false }, { lines: () => undefined, instance: () => undefined }),
  ),
  offBeside(MEASURED, (relay) => relay.measure({ categories }, 10_000)),
]);
const [tailed, measured] = [ratio(timings, TAILED, ALONE), ratio(timings, MEASURED, ALONE)];
const [slowest, p99] = [Math.max(...first), percentile(lines, 0.99)];
const ms = (value: number) => `${value.toFixed(0)} ms`;
publish({
  timings: [
    ...timings,
    timing(`from the request to the first lines of all ${PROCESSES} processes`, first),
    timing('from a call to its reader', lines),
  ],
  verdicts: [
    verdict('off, while another category is tailed', '<= 1.2 of itself', tailed.toFixed(2), tailed <= 1.2, tailed),
    verdict('off, while another is forecast', '<= 1.2 of itself', measured.toFixed(2), measured <= 1.2, measured),
    verdict(`first lines of all ${PROCESSES} processes, slowest`, '<= 2 s', ms(slowest), slowest <= 2000, slowest),
    verdict(`a line of ${PROCESSES} processes to its reader, p99`, '<= 250 ms', ms(p99), p99 <= 250, p99),
  ],
});
