import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { it } from 'node:test';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import type { TailLine } from '../../src/wire/streams.ts';
import { makeKey } from '../auth/records.ts';
import { startServer } from '../support/server.ts';

/** A server that records two of its categories, with the work of two tenants and of nobody's, of which half has failed. */
async function recordingServer(t: TestContext) {
  const keys = {
    admin: makeKey({ id: 'a', scopes: ['admin'] }),
    acme: makeKey({ id: 'c', scopes: ['tail'], tenantId: 'acme' }),
    limited: makeKey({ id: 'l', scopes: ['admin'], allow: { categories: ['DATABASE'], tail: 'redacted' } }),
    watcher: makeKey({ id: 'w', scopes: ['discovery', 'status', 'control'] }),
  };
  const server = await startServer(t, {
    config: {
      tenancy: { isolation: 'organization', tenants: { acme: {}, beta: {} } },
      security: { apiKeys: Object.values(keys).map(({ record }) => record) },
    },
  });
  for (const name of ['DATABASE', 'CACHE']) server.record(name);
  const { gate } = server;
  const job = (user: string) =>
    gate.work.run({ 'user.id': user }, () =>
      gate.work.runNamed('order', () => {
        gate.category('DATABASE').debug(`rows of ${user}`, { token: 'secret' });
        gate.category('CACHE').debug('miss');
        if (user !== '44') gate.category('DATABASE').fail(new RangeError('secret'));
      }),
    );
  gate.runWithTenant('acme', () => job('42'));
  gate.runWithTenant('beta', () => job('43'));
  job('44');
  const client = (name: keyof typeof keys, tenantId?: string) =>
    createRdcpClient({ baseUrl: server.url, apiKey: keys[name].key, ...(tenantId !== undefined && { tenantId }) });
  return { server, keys, client };
}

it('a tail gives the past to who may see it: GET and POST, by tenant, user and limits of the key', async (t) => {
  const { client } = await recordingServer(t);
  const read = async (who: Parameters<typeof client>[0], options: object, categories = 'DATABASE') => {
    const lines: TailLine[] = [];
    const events: string[] = [];
    for await (const { event, data } of client(who).tail(categories, { since: '1m', past: true, ...options })) {
      if (event === 'line') lines.push(data);
      else events.push(event === 'end' ? `end ${data.reason}` : event);
    }
    assert.deepEqual(events, ['start', 'instance', 'now', 'end past']);
    return lines;
  };
  const messages = (lines: readonly TailLine[]) => lines.map(({ message }) => message);
  const all = await read('admin', {});
  assert.deepEqual(messages(all), ['rows of 42', 'rows of 43', 'rows of 44']);
  assert.ok(all.every(({ recorded, attributes }) => recorded && attributes.token === '[redacted]'));
  assert.deepEqual(messages(await read('admin', { target: { match: { 'user.id': '43' } } })), ['rows of 43']);
  assert.deepEqual(messages(await read('admin', { when: { failed: true } })), ['rows of 42', 'rows of 43']);
  assert.deepEqual(messages(await read('acme', {})), ['rows of 42']);
  const [hidden] = await read('limited', {});
  assert.deepEqual(hidden?.attributes, { token: '[redacted]', 'rdcp.work.id': '[redacted]' });
  await assert.rejects(read('limited', {}, 'CACHE'), { code: 'RDCP_FORBIDDEN' });
});

it('a tail refuses a past that nobody keeps, and names what is not recorded', async (t) => {
  const { server, keys, client } = await recordingServer(t);
  const refused = async (query: string) => {
    const response = await fetch(`${server.url}${PATHS.tail}?${query}`, {
      headers: { 'X-RDCP-API-Key': keys.admin.key },
    });
    const { error }: ErrorResponse = await response.json();
    return [response.status, error.code, error.details];
  };
  assert.deepEqual(await refused('categories=DATABASE,HTTP&since=1m'), [
    400,
    'RDCP_MALFORMED_REQUEST',
    { field: 'since', notRecorded: ['HTTP'] },
  ]);
  assert.deepEqual((await refused('categories=DATABASE&since=61s'))[2], { field: 'since', maximum: '1m' });
  assert.deepEqual((await refused('categories=DATABASE&past=true'))[2], { field: 'past' });
  for (const name of ['http.request.header.x-id', 'url.query.user', 'rdcp.ticket']) {
    const target = { match: { [name]: '42' } };
    const unknown = { code: 'RDCP_MALFORMED_REQUEST', details: { field: `target.match.${name}` } };
    await assert.rejects(client('admin').failures({ target }), unknown);
    await assert.rejects(async () => {
      for await (const _ of client('admin').tail('DATABASE', { since: '1m', target })) break;
    }, unknown);
  }
});

it('POST /rdcp/v1/failures lists work that failed, to who may see it', async (t) => {
  const { client } = await recordingServer(t);
  const { failures, instances, more, recorder } = await client('admin').failures();
  assert.deepEqual([instances, more, recorder.categories], [{ asked: 1, answered: 1 }, false, ['CACHE', 'DATABASE']]);
  assert.match(recorder.reachesBack ?? '', /^\ds$/);
  const outcome = 'order failed after 0 ms, RangeError';
  const lines = { DATABASE: 1, CACHE: 1 };
  assert.deepEqual(
    failures.map((each) => [each.tenant, each.attributes, each.outcome.replace(/\d+ ms/, '0 ms'), each.lines]),
    [
      ['beta', { 'user.id': '43' }, outcome, lines],
      ['acme', { 'user.id': '42' }, outcome, lines],
    ],
  );
  const of = async (who: Parameters<typeof client>[0], request: object = {}, tenant?: string) =>
    (await client(who, tenant).failures(request)).failures.map(({ attributes }) => attributes['user.id']);
  assert.deepEqual(await of('acme'), ['42']);
  assert.deepEqual(await of('admin', {}, 'beta'), ['43']);
  assert.deepEqual(await of('admin', { target: { match: { 'user.id': '42' } } }), ['42']);
  assert.deepEqual(await of('admin', { limit: 1 }), ['43']);
  assert.deepEqual(await of('admin', { when: { failed: true, slowerThan: '10m' } }), ['43', '42']);
  const [hidden] = (await client('limited').failures()).failures;
  assert.deepEqual(
    [hidden?.outcome, hidden?.attributes, hidden?.lines],
    ['[redacted]', { 'user.id': '[redacted]' }, { DATABASE: 1 }],
  );
  await assert.rejects(of('limited', { categories: 'CACHE' }), { code: 'RDCP_FORBIDDEN' });
  await assert.rejects(of('watcher'), { code: 'RDCP_FORBIDDEN' });
  await assert.rejects(of('admin', { categories: ['HTTP'] }), /needs categories that are recorded; HTTP is not/);
  const { entries } = await client('admin').audit({ action: 'tail' });
  assert.ok(entries.some(({ reason }) => reason === 'work that failed in the last 1m for work with user.id'));
});
