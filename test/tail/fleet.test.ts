import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TailEvent, TailLine } from '../../src/wire/streams.ts';
import { onRedis } from '../store/on-redis.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { atMost } from '../support/at-most.ts';
import { until } from '../support/until.ts';
import { clientFor, type Member, startFleet } from './fleet.ts';

describe('a tail of three processes on Redis', { skip: whyNoRedis() }, () => {
  const place = onRedis();

  test('shows one tenant’s lines of each, in one place alone, and leaves nothing behind', async (t) => {
    const fleet = await startFleet(t, place.server.url, 3);
    const { instances } = await fleet[0]!.client.fleet();
    const ids = instances.map(({ id }) => id).sort();
    const asTenant = { tenantId: 'acme' };
    const began = performance.now();
    const events: TailEvent[] = [];
    const from = new Set<string>();
    const client = clientFor(fleet[0]!, asTenant);
    for await (const event of client.tail('DATABASE', { duration: '1m' })) {
      events.push(event);
      if (event.event === 'line') from.add(event.data.instance);
      if (from.size === 3 && events.length > 60) break;
    }
    t.diagnostic(`60 events of three processes after ${Math.round(performance.now() - began)} ms`);
    assert.equal(events[0]?.event === 'start' && events[0].data.instances, 3);
    assert.deepEqual([...from].sort(), ids);
    const lines = events.filter(({ event }) => event === 'line').map(({ data }) => data as TailLine);
    for (const { tenant, message, attributes } of lines) {
      assert.deepEqual([tenant, message, attributes.token], ['acme', "acme's query", '[redacted]']);
    }
    await off(fleet, 2000);
    for (const { output } of fleet) assert.doesNotMatch(output, /query/);

    const { instances: asked, categories } = await client.forecast('DATABASE', { duration: 1 });
    assert.deepEqual(asked, { asked: 3, answered: 3 });
    const rate = categories.DATABASE?.callsPerSecond.value ?? 0;
    assert.ok(rate > 30 && rate < 200, `${rate} calls a second of one tenant in three processes`);
    for (const { output } of fleet) assert.doesNotMatch(output, /query/);
  });

  test('has the recorded lines of each first, each once, and live ones follow without a gap', async (t) => {
    place.server.command('FLUSHALL');
    const fleet = await startFleet(t, place.server.url, 3, { recorder: { categories: ['DATABASE'] } });
    const { instances } = await fleet[0]!.client.fleet();
    const client = clientFor(fleet[0]!, { tenantId: 'acme' });
    const lines = new Map<string, TailLine[]>();
    const live = new Set<string>();
    const past: string[] = [];
    for await (const { event, data } of client.tail('DATABASE', { since: '30s', rate: 1000 })) {
      if (event === 'now') assert.deepEqual([data.instances, live.size], [{ asked: 3, answered: 3 }, 0]);
      if (event !== 'line') continue;
      lines.set(data.instance, [...(lines.get(data.instance) ?? []), data]);
      if (data.recorded) past.push(data.timestamp);
      else live.add(data.instance);
      if (live.size === 3) break;
    }
    assert.ok(past.length > 3);
    assert.deepEqual(past, past.toSorted(), 'in the order of their times');
    assert.deepEqual([...lines.keys()].sort(), instances.map(({ id }) => id).sort());
    for (const [instance, of] of lines) {
      const first = Number(of[0]?.attributes.count);
      const counts = of.map(({ attributes }) => attributes.count);
      assert.deepEqual(
        counts,
        of.map((_, index) => first + index),
        `every line of ${instance} once and in order`,
      );
      assert.ok(of.every(({ tenant, attributes }) => tenant === 'acme' && attributes.token === '[redacted]'));
    }
  });
});

/** Waits until no process is tapped any more. */
async function off(fleet: readonly Member[], milliseconds: number): Promise<number> {
  const began = performance.now();
  const areOff = async () => !(await Promise.all(fleet.map((member) => member.enabled()))).includes(true);
  await until('no process is tapped', areOff, atMost(milliseconds));
  return performance.now() - began;
}
