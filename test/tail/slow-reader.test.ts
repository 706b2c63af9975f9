// In a process of its own: it measures the memory of the process.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../../src/wire/constants.ts';
import { KEYS, startServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { openUnread } from './unread.ts';

/** How many times faster the intervals of a stream pass. */
const FASTER = 50;

test('a reader that stands still loses lines, learns how many, and holds up no other reader', async (t) => {
  const server = await startServer(t);
  const http = server.gate.category('HTTP');
  const response = await openUnread(t, `${server.url}${PATHS.tail}?categories=HTTP&rate=10000`, KEYS.admin);
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
  response.setEncoding('utf8').on('data', (chunk) => (read += chunk));
  response.resume();
  const dropped = () =>
    [...read.matchAll(/event: dropped\ndata: \{"count":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  const lines = () => [...read.matchAll(/event: line\n/g)].length;
  await until('each line was read or counted as dropped', () => dropped() + lines() >= 6000);
  assert.equal(dropped() + lines(), 6000);
  assert.ok(dropped() > 1000, `${dropped()}`);
});

test('a reader that is suspended loses its tail, and one that reads slowly keeps it', async (t) => {
  const server = await startServer(t, {
    wrap: ({ schedule }) => ({ schedule: (milliseconds, task) => schedule(milliseconds / FASTER, task) }),
  });
  const open = (category: string) =>
    openUnread(t, `${server.url}${PATHS.tail}?categories=${category}&rate=10000`, KEYS.admin);
  const [http, database] = [server.gate.category('HTTP'), server.gate.category('DATABASE')];
  await open('HTTP');
  const slow = await open('DATABASE');
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
