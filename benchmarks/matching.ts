// What a tail of the work on one path takes from a node:http service none of whose requests is on that path.

import { beside, contest, request, start } from './load/contest.ts';
import { built, publish, verdict } from './measurement.ts';
import { API_KEY } from './services/identities.ts';

const { createRdcpClient }: typeof import('../src/client.ts') = await import(built('client.js'));

const PLAIN = 'a node:http service with a debug point in each request';
const MATCHING = 'the same while a path is matched, and no request matches';

const service = await start('matching');
const baseUrl = await (await fetch(`http://127.0.0.1:${service.port}/remote-control`)).text();
const client = createRdcpClient({ baseUrl, apiKey: API_KEY });

/** Tails a path that no request has. Resolves when the service matches it, with a function that ends it. */
async function matchPath() {
  const tail = client.tail('ORDERS', { target: { match: { 'url.path': '/checkout' } } });
  for (let next = await tail.next(); next.value?.event !== 'instance'; ) next = await tail.next();
  return async () => void (await tail.return(undefined));
}

const requests = [request('/orders')];
const outcomes = await contest(
  [
    { name: PLAIN, service, requests },
    { name: MATCHING, service, requests, within: matchPath },
  ],
  { rounds: 41, sliceMs: 150 },
);
service.stop();

const matching = beside(outcomes.get(MATCHING)!, outcomes.get(PLAIN)!, 'processor');
publish({
  timings: [...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu]),
  verdicts: [
    verdict(MATCHING, '>= 0.97 of the service without', matching.text, matching.ratio >= 0.97, matching.ratio),
  ],
});
