// In a process of its own: it measures the memory of the process.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../../src/wire/constants.ts';
import { KEYS, startServer } from '../support/server.ts';
import { until } from '../support/until.ts';

test('a reader that stands still loses lines, learns how many, and holds up no other reader', async (t) => {
  const server = await startServer(t);
  const http = server.gate.category('HTTP');
  const request = httpRequest(`${server.url}${PATHS.tail}?categories=HTTP&rate=10000`, {
    headers: { 'X-RDCP-API-Key': KEYS.admin },
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  response.pause();
  await until('the tail has begun', () => http.enabled);
  const before = process.memoryUsage().rss;
  const text = 'x'.repeat(4000);
  for (let round = 0; round < 60; round++) {
    for (let call = 0; call < 100; call++) http.debug(text, { call });
    // A pace below the rate; how much of it is written in between does not matter.
    await sleep(20);
  }
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
  assert.ok(grown < 60, `${grown} MiB for 24 MiB of lines`);
  let read = '';
  response.on('data', (chunk) => (read += chunk));
  response.resume();
  const dropped = () =>
    [...read.matchAll(/event: dropped\ndata: \{"count":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  const lines = () => [...read.matchAll(/event: line\n/g)].length;
  await until('each line was read or counted as dropped', () => dropped() + lines() >= 6000);
  assert.equal(dropped() + lines(), 6000);
  assert.ok(dropped() > 1000, `${dropped()}`);
  request.destroy();
});
