// The figure is in docs/stores-and-fleets.md.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { startFleet } from '../tail/fleet.ts';

const MEMBERS = 4;
/** Several beats of each process. */
const SECONDS = 10;
const MAX_PER_SECOND = 5;

/** The calls of each command, those within scripts included. */
function callsOf(statistics: string): Map<string, number> {
  const rows = statistics.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  return new Map([...rows].map(([, name = '', calls]) => [name, Number(calls)]));
}

test(`an idle process costs its Redis at most ${MAX_PER_SECOND} commands a second`, {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await startFleet(t, redis.url, MEMBERS);
  redis.command('CONFIG', 'RESETSTAT');
  await sleep(SECONDS * 1000);
  const calls = callsOf(redis.command('INFO', 'commandstats'));
  for (const own of ['config|resetstat', 'auth', 'info']) calls.delete(own);
  const perSecond = [...calls.values()].reduce((sum, each) => sum + each, 0) / SECONDS / MEMBERS;
  t.diagnostic(`${perSecond.toFixed(2)} commands a second and process: ${JSON.stringify(Object.fromEntries(calls))}`);
  assert.ok(perSecond > 0, 'the fleet is there');
  assert.ok(perSecond <= MAX_PER_SECOND, `${perSecond}`);
});
