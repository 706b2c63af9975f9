// In a process of its own: it measures the memory of the process.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../../src/protocol/constants.ts';
import { KEYS, startServer } from '../support/server.ts';

test('a reader that stands still loses lines and is told how many, and holds up nobody', async (t) => {
  const server = await startServer(t);
  const http = server.gate.category('HTTP');
  const request = httpRequest(`${server.url}${PATHS.tail}?categories=HTTP&rate=10000`, {
    headers: { 'X-RDCP-API-Key': KEYS.admin },
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  response.pause();
  while (!http.enabled) await sleep(5);
  const before = process.memoryUsage().rss;
  const text = 'x'.repeat(4000);
  for (let round = 0; round < 60; round++) {
    for (let call = 0; call < 100; call++) http.debug(text, { call });
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
  while (dropped() + lines() < 6000) await sleep(20);
  assert.equal(dropped() + lines(), 6000);
  assert.ok(dropped() > 1000, `${dropped()}`);
  request.destroy();
});
