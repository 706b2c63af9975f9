// GET /rdcp/v1/status through the whole endpoint: its hardened port, authentication, limits, headers; beside a Koa
// service with the same routes that sends a string of the same length. By an API key, and by a token that was verified before.

import { beside, contest, createGenerator, request, start } from './load/contest.ts';
import { publish, verdict } from './measurement.ts';
import { API_KEY, token } from './services/identities.ts';

const PATH = '/rdcp/v1/status';

const endpoint = await start('endpoint');
const byKey = request(PATH, { 'X-RDCP-API-Key': API_KEY });
const byToken = request(PATH, { Authorization: `Bearer ${await token()}` });

const generator = createGenerator();
const { answerBytes } = await generator.send({
  port: endpoint.port,
  requests: [byKey],
  connections: 1,
  milliseconds: 2000,
});
generator.stop();
const bare = await start('bare-koa', String(answerBytes));

const BARE = `a bare Koa route of ${answerBytes} bytes`;
const KEY = 'status by an API key';
const TOKEN = 'status by a token seen before';

const outcomes = await contest([
  { name: BARE, service: bare, requests: [request(PATH)] },
  { name: KEY, service: endpoint, requests: [byKey] },
  { name: TOKEN, service: endpoint, requests: [byToken] },
]);
endpoint.stop();
bare.stop();

const key = beside(outcomes.get(KEY)!, outcomes.get(BARE)!, 'processor');
const seen = beside(outcomes.get(TOKEN)!, outcomes.get(KEY)!, 'processor');
publish({
  timings: [...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu]),
  verdicts: [
    verdict(KEY, '>= 0.45 of the bare Koa route', key.text, key.ratio >= 0.45, key.ratio),
    verdict(TOKEN, ">= 0.9 of the API key's", seen.text, seen.ratio >= 0.9, seen.ratio),
  ],
});
