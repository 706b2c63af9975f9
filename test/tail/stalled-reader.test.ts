import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { PATHS } from '../../src/wire/constants.ts';
import { clientOf, KEYS, startServer } from '../support/server.ts';
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
  const client = clientOf(await startServer(t));
  const leaving = new AbortController();
  const refused: string[] = [];
  for (let asked = 0; asked < 60; asked++) {
    client
      .forecast('HTTP', { duration: 60, signal: leaving.signal })
      .catch(({ code }) => leaving.signal.aborted || refused.push(code));
  }
  await until('58 are refused', () => refused.length >= 58);
  leaving.abort(new Error('left'));
  assert.deepEqual(refused, Array(58).fill('RDCP_RATE_LIMITED'));
  const asks = () => client.forecast('HTTP', { duration: 1 }).then(Boolean, () => false);
  await until('the places are free again', asks);
});
