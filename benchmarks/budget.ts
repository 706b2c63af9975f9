// What a category that is on and called about a million times a second takes from a Koa service under the default budget.

import { beside, contest, request, start } from './load/contest.ts';
import { publish, verdict } from './measurement.ts';

const OFF = 'a Koa service, 64 calls of a category that is off in each request';
const FLOOD = 'the same calls of a category that is on, under the default budget';

const service = await start('hot-path');
const outcomes = await contest(
  [
    { name: OFF, service, requests: [request('/off')] },
    { name: FLOOD, service, requests: [request('/flood')] },
  ],
  { rounds: 41, sliceMs: 150 },
);
service.stop();

const flood = outcomes.get(FLOOD)!;
const compared = beside(flood, outcomes.get(OFF)!, 'processor');
const callsPerSecond = Math.round((64 * 1e9) / flood.cpu.p50 / 1000) * 1000;
publish({
  timings: [...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu]),
  verdicts: [
    verdict(
      `on, called ${callsPerSecond} times a second of processor time`,
      '>= 0.95 of the throughput while off',
      compared.text,
      compared.ratio >= 0.95,
      compared.ratio,
    ),
  ],
});
