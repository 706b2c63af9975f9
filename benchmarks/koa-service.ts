// What fifty debug points that are off take from a Koa service: one for each line of the orders that it prices.

import { beside, contest, request, start } from './load/contest.ts';
import { publish, verdict } from './measurement.ts';

const PLAIN = 'a Koa service';
const POINTS = 'the same with 50 points that are off in each request';

const service = await start('orders');
const outcomes = await contest(
  [
    { name: PLAIN, service, requests: [request('/plain')] },
    { name: POINTS, service, requests: [request('/points')] },
  ],
  { rounds: 41, sliceMs: 150 },
);
service.stop();

const points = beside(outcomes.get(POINTS)!, outcomes.get(PLAIN)!, 'processor');
publish({
  timings: [...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu]),
  verdicts: [verdict(POINTS, '>= 0.99 of the service without', points.text, points.ratio >= 0.99, points.ratio)],
});
