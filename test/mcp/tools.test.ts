// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createRdcpClient } from '../../src/client.ts';
import { MAX_ANSWER_BYTES } from '../../src/tools/mcp/answer.ts';
import { serve } from '../support/serve.ts';
import { until } from '../support/until.ts';
import { AGENT, agentOf, ask, MODES, textOf } from './agent.ts';
import { HOSTILE, openShop, type Shop } from './service.ts';

describe('tools for agents', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop();
  });
  after(() => shop.close());

  it('say what they do: annotations, schemas, and none that writes without the flag', async (t) => {
    for (const mode of MODES) {
      const { tools } = await (await agentOf(t, shop, { mode })).listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['list_categories', 'forecast', 'collect_lines', 'list_failures', 'status', 'audit', 'explain'],
      );
      for (const { name, annotations, inputSchema, outputSchema } of tools) {
        assert.deepEqual(
          annotations,
          { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
          name,
        );
        assert.equal(inputSchema.type, 'object', name);
        assert.equal(outputSchema?.type, 'object', name);
      }
      const writers = (await (await agentOf(t, { ...shop, writes: true }, { mode })).listTools()).tools.slice(7);
      assert.deepEqual(
        writers.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]),
        [
          ['enable', false, true],
          ['record', false, false],
          ['disable', false, true],
        ],
      );
    }
  });

  it('measure, with progress', async (t) => {
    const client = await agentOf(t, shop);
    const seen: number[] = [];
    const answer = await ask(
      client,
      'forecast',
      { categories: ['ORDERS', 'NEVER_CALLED'], duration: '3s' },
      { onprogress: ({ progress, total }) => void seen.push(progress, total ?? 0) },
    );
    assert.deepEqual(answer.processes, { asked: 1, answered: 1 });
    const rates = Object.fromEntries(
      answer.categories.map(({ category, callsPerSecond }: { category: string; callsPerSecond: number }) => [
        category,
        callsPerSecond > 0,
      ]),
    );
    assert.deepEqual(rates, { ORDERS: true, NEVER_CALLED: false });
    assert.deepEqual(seen.slice(0, 2), [1, 3]);
  });

  it('bound what they answer, whatever is asked for, and say what is missing', async (t) => {
    const client = await agentOf(t, shop);
    const call = (given: object) =>
      client.callTool({ name: 'collect_lines', arguments: { categories: ['FLOOD'], ...given } });
    const refused = await call({ max_lines: 1_000_000 });
    assert.equal(refused.isError, true);
    assert.match(JSON.stringify(refused.content), /max_lines/);
    const called = await call({ max_lines: 500, duration: '30s' });
    const text = textOf(called);
    assert.ok(Buffer.byteLength(text) <= MAX_ANSWER_BYTES, `${Buffer.byteLength(text)} bytes`);
    const answer = called.structuredContent as { lines: object[]; ended: string; dropped: number; shortened: number };
    assert.deepEqual([answer.ended, answer.dropped > 0], ['max_bytes', true]);
    assert.equal(answer.shortened, answer.lines.length);
    assert.ok(answer.lines.length > 5);
  });

  it('cut long texts wherever they are, and leave out attributes that are too many', async (t) => {
    const client = await agentOf(t, shop);
    const { lines, shortened } = await ask(client, 'collect_lines', { categories: ['WIDE_LINES'], max_lines: 2 });
    assert.equal(shortened, 2);
    const [nested, wide] = lines;
    assert.match(nested.attributes.list[0], /^z{1000}… \(\d+ more characters\)$/);
    assert.match(JSON.stringify(nested.attributes), /deep.*z{1000}… \(\d+ more characters\)/);
    assert.deepEqual([wide.message, wide.attributes], ['wide', {}]);
  });

  it('answer with what has come when the service is gone, or ends the tail', async (t) => {
    for (const [last, ended] of [
      ['', 'service_ended'],
      ['event: end\ndata: {"reason":"revoked","lines":0,"dropped":9}\n\n', 'credential_ended'],
    ] as const) {
      const { url } = await serve(t, (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write('event: start\ndata: {"revision":1,"instances":2,"categories":["ORDERS"],"expiresAt":""}\n\n');
        response.write('event: dropped\ndata: {"count":7,"since":""}\n\n');
        response.write('event: now\ndata: {"instances":{"asked":2,"answered":2},"reachesBack":"41s"}\n\n');
        response.end(last);
      });
      const answer = await ask(await agentOf(t, { url, key: shop.key }), 'collect_lines', { categories: ['ORDERS'] });
      const dropped = last === '' ? 7 : 9;
      assert.deepEqual(
        [answer.ended, answer.dropped, answer.lines, answer.processes, answer.reachesBack],
        [ended, dropped, [], { asked: 2, joined: 0 }, '41s'],
      );
    }
  });

  it('keep lines inside their frame', async (t) => {
    const client = await agentOf(t, shop);
    const called = await client.callTool({
      name: 'collect_lines',
      arguments: { categories: ['ODD_LINES'], max_lines: 1 },
    });
    const text = textOf(called);
    assert.deepEqual(JSON.parse(text), called.structuredContent);
    assert.doesNotMatch(text, /[<>\p{Cc}\p{Cf}]/u);
    const [line] = JSON.parse(text).lines;
    assert.equal(line.message, HOSTILE.replace('\u001b', '\\u001b').replace('\u202e', '\\u202e'));
    assert.deepEqual(Object.values(line.attributes), [line.message]);
  });

  it('explain why no line is seen', async (t) => {
    const client = await agentOf(t, shop);
    const silent = await ask(client, 'collect_lines', { categories: ['NEVER_CALLED'], duration: '1s' });
    assert.deepEqual([silent.lines, silent.ended], [[], 'time']);
    assert.match(silent.hint, /explain/);
    const { categories } = await ask(client, 'explain', {
      categories: ['NEVER_CALLED', 'ORDERS', 'ORDRES'],
      tenant: 'acme',
      target: { match: { 'user.id': '44' } },
    });
    const reasons = Object.fromEntries(
      categories.map(({ category, reasons }: { category: string; reasons: string[] }) => [category, reasons.join(' ')]),
    );
    assert.match(reasons.NEVER_CALLED, /was not called for tenant acme in 3 s/);
    assert.match(reasons.ORDERS, /was called \d+ times for tenant acme in 3 s; none had /);
    assert.match(reasons.ORDRES, /did you mean ORDERS/);
    const reader = await agentOf(t, { ...shop, key: shop.reader });
    const { service } = await ask(reader, 'explain', { categories: ['ORDERS'] });
    assert.match(service[0], /cannot be measured: RDCP_FORBIDDEN/);
  });

  it('explain what is on and called', async (t) => {
    const client = await agentOf(t, shop);
    await shop.client.enable('ORDERS', { duration: '1m', reason: 'test' });
    const { categories } = await ask(client, 'explain', { categories: ['orders'] });
    assert.match(categories[0].reasons[0], /^ORDERS was called [1-9]\d* times in 3 s\.$/);
    const all = await ask(client, 'list_categories');
    assert.deepEqual([all.categories[0].name, all.omitted, all.categories.length >= 5], ['ORDERS', 0, true]);
    const listed = await ask(client, 'list_categories', { on: true });
    assert.deepEqual(
      listed.categories.map((each: Record<string, unknown>) => [each.name, typeof each.callsPerSecond]),
      [['ORDERS', 'number']],
    );
    assert.equal((await ask(client, 'status')).on[0].category, 'ORDERS');
    await shop.client.enable('ORDERS', { otelrdcp_level: 'warn', reason: 'test' });
    assert.equal((await ask(client, 'status')).on[0].states[0].whom, 'quiet below warn');
    const { reasons, states } = (await ask(client, 'explain', { categories: ['ORDERS'] })).categories[0];
    assert.equal(reasons.at(-1), 'It is quiet below warn: other lines of it are not written.');
    assert.match(states[0].whom, /, quiet below warn$/);
    await shop.client.reset('ORDERS');
  });

  it('show what is on for a tenant or for some work, and what was refused', async (t) => {
    const client = await agentOf(t, shop);
    const acme = createRdcpClient({ baseUrl: shop.url, apiKey: shop.key, tenantId: 'acme' });
    await acme.enable('ORDERS', { duration: '1m', reason: 'for acme' });
    const target = { match: { 'user.id': '42' } };
    await shop.client.enable('FLOOD', { duration: '1m', reason: 'for 42', otelrdcp_target: target });
    const { on } = await ask(client, 'status');
    const whom = Object.fromEntries(
      on.map(({ category, states: [state] }: { category: string; states: { whom: string }[] }) => [
        category,
        state?.whom,
      ]),
    );
    assert.match(whom.ORDERS, /^acme, /);
    assert.match(whom.FLOOD, /^user\.id=42, /);
    const explained = await ask(client, 'explain', { categories: ['FLOOD'] });
    const reason = 'It is on for user.id=42 alone: the logs of the service have no other debug line of it.';
    assert.equal(explained.categories[0].reasons.at(-1), reason);
    await acme.reset();
    await shop.client.reset();
    const reader = createRdcpClient({ baseUrl: shop.url, apiKey: shop.reader });
    await assert.rejects(reader.enable('ORDERS'));
    const refused = await until('the refusal', async () => {
      const { entries } = await ask(client, 'audit', { outcome: 'denied', limit: 100 });
      return entries.find(({ who }: { who: string }) => who === 'reader');
    });
    assert.equal(refused.error, 'RDCP_FORBIDDEN');
    const { entries } = await ask(client, 'audit', { action: 'enable', category: 'orders' });
    assert.deepEqual([entries[0].tenant, entries[0].reason], ['acme', 'for acme']);
  });

  it('refuse the fifth collection at a time, and end those that are cancelled', async (t) => {
    const client = await agentOf(t, shop);
    const before = (await shop.entries('tail')).length;
    const stop = new AbortController();
    const given = { categories: ['NEVER_CALLED'], duration: '5m' };
    const four = Array.from({ length: 4 }, () => ask(client, 'collect_lines', given, { signal: stop.signal }));
    const rejected = Promise.allSettled(four);
    await until('four collections', async () => (await shop.entries('tail')).length === before + 4);
    await assert.rejects(ask(client, 'collect_lines', given), /4 collections are running/);
    stop.abort();
    assert.ok((await rejected).every(({ status }) => status === 'rejected'));
    await until('their ends', async () => (await shop.entries('tail')).length === before + 8);
    assert.equal((await ask(client, 'status')).enabled, true);
  });

  it('stay with the tenant that the command names, and are audited under the name of their program', async (t) => {
    const client = await agentOf(t, { ...shop, tenant: 'acme' });
    const { lines } = await ask(client, 'collect_lines', { categories: ['ORD*'], max_lines: 20 });
    assert.ok(lines.every(({ tenant }: { tenant: string }) => tenant === 'acme'));
    const { entries } = await ask(client, 'audit', { action: 'tail', category: 'orders', limit: 1 });
    assert.deepEqual([entries[0].who, entries[0].categories], ['ann', ['ORDERS']]);
    assert.ok(entries[0].via.startsWith(`${AGENT.name}/${AGENT.version} via agent (rdcp mcp`));
    await assert.rejects(ask(client, 'status', { tenant: 'other' }), /for the tenant acme alone/);
  });

  it('say what is wrong', async (t) => {
    const client = await agentOf(t, shop);
    await assert.rejects(ask(client, 'forecast', { categories: ['ORDRES'] }), /did you mean ORDERS/);
    await assert.rejects(ask(client, 'forecast', { categories: ['NONE_*'] }), /no category matches/);
    await assert.rejects(ask(client, 'forecast', { categories: ['ORDERS'], duration: '1h' }), /at most 60s/);
    await assert.rejects(ask(client, 'list_categories', { pattern: '<b>' }), /invalid category name/);
    const lost = await agentOf(t, { ...shop, url: 'http://127.0.0.1:1' });
    await assert.rejects(ask(lost, 'status'), /RDCP_UNAVAILABLE/);
  });
});
