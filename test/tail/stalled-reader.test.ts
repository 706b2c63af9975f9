import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { PATHS } from '../../src/wire/constants.ts';
import { KEYS, startServer } from '../support/server.ts';
import { until } from '../support/until.ts';

/** How many times faster the intervals of a stream pass. */
const FASTER = 50;

test('a reader that is suspended loses its tail, and one that reads slowly keeps it', async (t) => {
  const server = await startServer(t, {
    wrap: ({ schedule }) => ({ schedule: (milliseconds, task) => schedule(milliseconds / FASTER, task) }),
  });
  const open = async (category: string) => {
    const request = httpRequest(`${server.url}${PATHS.tail}?categories=${category}&rate=10000`, {
      headers: { 'X-RDCP-API-Key': KEYS.admin },
    });
    t.after(() => request.destroy());
    request.on('error', () => {});
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => {});
    return response;
  };
  const [http, database] = [server.gate.category('HTTP'), server.gate.category('DATABASE')];
  const suspended = await open('HTTP');
  suspended.pause();
  const slow = await open('DATABASE');
  slow.pause();
  const reading = setInterval(() => slow.read(16 * 1024), 20);
  t.after(() => clearInterval(reading));
  await until('both are tapped', () => http.enabled && database.enabled);
  const text = 'x'.repeat(4000);
  await until('the suspended reader has lost its tap', () => {
    for (const category of [http, database]) for (let call = 0; call < 20; call++) category.debug(text);
    return !http.enabled;
  });
  assert.equal(database.enabled, true);
});

test('two forecasts at a time of one identity, and no more', async (t) => {
  const server = await startServer(t);
  const forecast = () =>
    server.request(PATHS.forecast, { key: 'admin', method: 'POST', body: { categories: ['HTTP'], duration: 2 } });
  const answers = await Promise.all(Array.from({ length: 60 }, forecast));
  const statuses = answers.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 2);
  assert.equal(statuses.filter((status) => status === 429).length, 58);
  assert.equal((await forecast()).status, 200, 'the places are free again');
});
