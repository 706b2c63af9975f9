import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SignJWT } from 'jose';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import type { AuditEntry, AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { ApprovalsResponse, ControlResponse, ErrorResponse, SessionResponse } from '../../src/wire/messages.ts';
import { makeKey } from '../auth/records.ts';
import { newFolder, newStore } from '../support/folder.ts';
import { send, startServer, type TestRequest } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { LEVELS } from '../support/tenants.ts';
import { until } from '../support/until.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { askToken, bearer, post as postForm, startTokenServer } from './tokens.ts';

const made = (fields: Partial<ApiKeyRecord>) => makeKey({ id: fields.clientId ?? 'k', ...fields });
const ALLOW = { categories: ['DB_*'], maxDuration: '15m' };
const KEYS = {
  agent: made({ clientId: 'agent', scopes: ['control', 'discovery'], allow: ALLOW, approval: true }),
  refused: made({ clientId: 'refused', scopes: ['control'], allow: ALLOW }),
  owner: made({ clientId: 'owner', scopes: ['admin'] }),
  itself: made({ id: 'itself', clientId: 'other', userId: 'agent', scopes: ['admin'] }),
  lesser: made({ clientId: 'lesser', scopes: ['admin'], allow: { categories: ['HTTP'], maxDuration: '1h' } }),
  operator: made({ clientId: 'operator', scopes: ['control', 'discovery'] }),
};
type Name = keyof typeof KEYS;
const RECORDS = Object.values(KEYS).map(({ record }) => record);

const asking =
  (url: string) =>
  <T = ErrorResponse>(name: Name, path: string, { headers, ...request }: TestRequest = {}) =>
    send<T>(url + path, { ...request, headers: { 'X-RDCP-API-Key': KEYS[name].key, ...headers } });

const post = (body: object, requestId?: string): TestRequest => ({
  method: 'POST',
  body,
  ...(requestId !== undefined && { headers: { 'X-RDCP-Request-ID': requestId } }),
});
const enableHttp = { action: 'enable', categories: 'HTTP', options: { duration: '1h', reason: 'orders fail' } };

const idOf = ({ error }: ErrorResponse) => ((error.details?.approval ?? {}) as { readonly id: string }).id;

async function start(t: TestContext, config: RdcpConfig = {}) {
  const { rdcp, url } = await startService(t, { security: { apiKeys: RECORDS }, ...config });
  for (const name of ['DB_POOL', 'HTTP']) rdcp.category(name);
  return { rdcp, ask: asking(url) };
}

test('a change beyond what a key may waits for another identity, and is in the trail with both', async (t) => {
  const { rdcp, ask } = await start(t);
  const asked = await ask('agent', PATHS.control, post(enableHttp));
  assert.equal(asked.status, 403, asked.text);
  const { code, message, method, details } = asked.body.error;
  assert.deepEqual(
    [code, method, details?.reason, details?.field],
    ['RDCP_FORBIDDEN', 'api-key', 'approval_required', 'categories'],
  );
  assert.deepEqual(details?.allow, ALLOW);
  const id = idOf(asked.body);
  assert.match(message, new RegExp(`^categories must match DB_\\* .*rdcp approve ${id}$`));
  assert.equal(rdcp.category('HTTP').enabled, false);

  const { body: list } = await ask<ApprovalsResponse>('owner', PATHS.approvals);
  const [waiting, ...others] = list.waiting;
  assert.deepEqual(others, []);
  assert.deepEqual(
    { ...waiting, problem: '', since: '', expiresAt: '' },
    {
      id,
      action: 'enable',
      categories: ['HTTP'],
      options: { duration: 3600, reason: 'orders fail' },
      by: { userId: 'agent', clientId: 'agent' },
      problem: '',
      since: '',
      expiresAt: '',
    },
  );
  assert.equal(Date.parse(waiting?.expiresAt ?? '') - Date.parse(waiting?.since ?? ''), 600_000);

  const answer = await ask<ControlResponse>('owner', PATHS.approve, post({ id }));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(rdcp.category('HTTP').enabled, true);
  assert.deepEqual((await ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting, []);

  const { entries } = (await ask<AuditResponse>('owner', PATHS.audit)).body;
  const entry = (action: string) => entries.filter((each) => each.action === action);
  const [change, ...changes] = entry('enable');
  assert.deepEqual(changes, []);
  assert.deepEqual([change?.identity.clientId, change?.reason], ['agent', 'orders fail']);
  const by = { method: 'api-key', userId: 'owner', clientId: 'owner', scopes: ['admin'] };
  assert.deepEqual(change?.otelrdcp_approval, { id, by });
  const [request, ...requests] = entry('approval');
  assert.deepEqual(requests, []);
  assert.deepEqual([request?.identity.clientId, request?.categories], ['agent', ['HTTP']]);
  assert.deepEqual(request?.otelrdcp_approval, { id, action: 'enable', expiresAt: waiting?.expiresAt });
  assert.deepEqual(entry('authorize'), [], 'it was not refused');
});

test('a change is approved once: a second approval gets the answer of the first', async (t) => {
  const { ask } = await start(t);
  const id = idOf((await ask('agent', PATHS.control, post({ action: 'toggle', categories: 'HTTP' }))).body);
  const [one, other] = await Promise.all([
    ask<ControlResponse>('owner', PATHS.approve, post({ id })),
    ask<ControlResponse>('owner', PATHS.approve, post({ id })),
  ]);
  const third = await ask<ControlResponse>('owner', PATHS.approve, post({ id }));
  assert.equal(third.status, 200);
  assert.ok([one, other].every(({ status }) => status === 200 || status === 409));
  const { entries } = (await ask<AuditResponse>('owner', PATHS.audit)).body;
  assert.equal(entries.filter(({ action }) => action === 'toggle').length, 1);
});

test('a repeat of the request with its id waits on, and gets the answer once it is approved', async (t) => {
  const { ask } = await start(t);
  const send = (body: object) => ask<ControlResponse & ErrorResponse>('agent', PATHS.control, post(body, 'mine-1'));
  const first = await send(enableHttp);
  const second = await send(enableHttp);
  assert.deepEqual([second.status, idOf(second.body)], [403, idOf(first.body)]);
  const different = await send({ ...enableHttp, action: 'toggle' });
  assert.deepEqual([different.status, different.body.error.code], [422, 'RDCP_REQUEST_ID_REUSED']);
  assert.equal((await ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting.length, 1);
  await ask('owner', PATHS.approve, post({ id: idOf(first.body) }));
  const last = await send(enableHttp);
  assert.deepEqual([last.status, last.headers.get('x-rdcp-replayed')], [200, 'true']);
});

test('a declined change waits no longer, cannot be approved, and its repeated request says so', async (t) => {
  const { rdcp, ask } = await start(t);
  const asked = () => ask<ControlResponse & ErrorResponse>('agent', PATHS.control, post(enableHttp, 'mine-1'));
  const id = idOf((await asked()).body);
  assert.equal((await ask('operator', PATHS.approve, post({ id, decline: true }))).status, 403);
  for (const answer of [
    await ask<ControlResponse>('owner', PATHS.approve, post({ id, decline: true })),
    await ask<ControlResponse>('owner', PATHS.approve, post({ id })),
    await asked(),
  ]) {
    assert.deepEqual([answer.status, answer.body.status, answer.body.message], [200, 'failed', 'Declined by owner']);
  }
  assert.equal(rdcp.category('HTTP').enabled, false);
  assert.deepEqual((await ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting, []);
  const { entries } = (await ask<AuditResponse>('owner', PATHS.audit)).body;
  const [declined] = entries.filter(({ action }) => action === 'approval');
  assert.deepEqual(
    [declined?.outcome, declined?.identity.userId, declined?.otelrdcp_approval?.id],
    ['denied', 'owner', id],
  );

  const other = idOf((await ask('agent', PATHS.control, post(enableHttp))).body);
  await ask('owner', PATHS.approve, post({ id: other }));
  const late = await ask<ControlResponse>('owner', PATHS.approve, post({ id: other, decline: true }));
  assert.deepEqual([late.body.status, rdcp.category('HTTP').enabled], ['success', true], 'it was approved before');
});

test('an approval is of the change that was seen, also when its request id is used again for another', async (t) => {
  const time = virtualTime();
  const server = await startServer(t, { clock: time.clock, config: { security: { apiKeys: RECORDS } } });
  const ask = asking(server.url);
  const send = (duration: string) =>
    ask('agent', PATHS.control, post({ action: 'enable', categories: 'HTTP', options: { duration } }, 'mine-1'));
  const seen = idOf((await send('16m')).body);
  time.suspend(600_000);
  const later = idOf((await send('24h')).body);
  assert.equal((await ask('owner', PATHS.approve, post({ id: seen }))).status, 404);
  assert.equal(server.gate.category('HTTP').enabled, false);
  assert.equal((await ask('owner', PATHS.approve, post({ id: later }))).status, 200);
});

test('who asked does not approve, nor does a key without admin, nor one that may not make the change either', async (t) => {
  const { rdcp, ask } = await start(t);
  const asked = await ask('agent', PATHS.control, post({ action: 'enable', categories: ['HTTP', 'DB_POOL'] }));
  const approval = post({ id: idOf(asked.body) });
  const reasonOf = async (name: Name) => {
    const { status, body } = await ask(name, PATHS.approve, approval);
    return [status, body.error.details?.reason];
  };
  assert.deepEqual(await reasonOf('agent'), [403, 'insufficient_scopes']);
  assert.deepEqual(await reasonOf('operator'), [403, 'insufficient_scopes']);
  assert.deepEqual(await reasonOf('itself'), [403, 'own_request'], 'another key of the same user');
  assert.deepEqual(await reasonOf('lesser'), [403, 'not_allowed']);
  assert.equal(rdcp.category('HTTP').enabled, false);
  assert.equal((await ask('owner', PATHS.approve, post({ id: '0123456789ab' }))).status, 404);
  assert.equal((await ask('owner', PATHS.approve, post({ id: '../control' }))).status, 400);
  assert.equal((await ask('owner', PATHS.approve, approval)).status, 200);
});

test('without approval, as a try, or for a ticket, it is refused', async (t) => {
  const { ask } = await start(t);
  const reasonOf = async (name: Name, body: object) =>
    (await ask(name, PATHS.control, post(body))).body.error.details?.reason;
  assert.equal(await reasonOf('refused', enableHttp), 'not_allowed');
  assert.equal(await reasonOf('agent', { ...enableHttp, options: { otelrdcp_dryRun: true } }), 'not_allowed');
  const ticket = { action: 'enable', categories: 'HTTP', options: { otelrdcp_target: { request: true } } };
  assert.equal(await reasonOf('agent', ticket), 'not_allowed');
  assert.deepEqual((await ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting, []);
});

test('no more than twenty changes of a user wait', async (t) => {
  const { ask } = await start(t);
  const reasons: unknown[] = [];
  for (let sent = 0; sent < 22; sent++) {
    reasons.push((await ask('agent', PATHS.control, post(enableHttp))).body.error.details?.reason);
  }
  assert.deepEqual(reasons.slice(18), ['approval_required', 'approval_required', 'not_allowed', 'not_allowed']);
});

test('after ten minutes a change waits no more', async (t) => {
  const time = virtualTime();
  const server = await startServer(t, { clock: time.clock, config: { security: { apiKeys: RECORDS } } });
  const ask = asking(server.url);
  const body = { action: 'enable', categories: 'HTTP', options: { duration: '1m' } };
  const late = idOf((await ask('agent', PATHS.control, post(body))).body);
  time.suspend(599_000);
  assert.equal((await ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting.length, 1);
  time.suspend(1000);
  assert.deepEqual((await ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting, []);
  assert.equal((await ask('owner', PATHS.approve, post({ id: late }))).status, 404);

  const id = idOf((await ask('agent', PATHS.control, post(body))).body);
  assert.equal((await ask('owner', PATHS.approve, post({ id }))).status, 200);
  time.suspend(400_000);
  const again = await ask<ControlResponse>('owner', PATHS.approve, post({ id }));
  assert.equal(again.status, 200);
  const { entries } = (await ask<AuditResponse>('owner', PATHS.audit)).body;
  assert.equal(entries.filter(({ action }) => action === 'enable').length, 1, 'it was made once, in ten minutes');
});

test('what a key or token asked for is not made once it was revoked or changed', async (t) => {
  const folder = newFolder(t);
  const file = join(folder, 'keys.json');
  const { agent, owner } = KEYS;
  const write = (...asker: ApiKeyRecord[]) => writeFileSync(file, JSON.stringify({ keys: [owner.record, ...asker] }));
  write(agent.record);
  const server = await startTokenServer(t, { apiKeys: { file } });
  const ask = asking(server.url);
  const rights = async () => {
    const { status, body } = await ask<SessionResponse>('agent', PATHS.session);
    return JSON.stringify([status, body.scopes, body.otelrdcp_allow, body.otelrdcp_approval]);
  };
  const rewrite = async (...records: ApiKeyRecord[]) => {
    const before = await rights();
    write(...records);
    await until('the keys are read', async () => (await rights()) !== before);
  };
  const client = { client_id: 'agent', client_secret: agent.key };
  const less = { allow: { ...ALLOW, maxDuration: '5m' } };
  for (const [what, by, change, reason] of [
    ['the same key', 'key', undefined, undefined],
    ['the same token', 'token', undefined, undefined],
    ['a revoked token', 'token', 'revoke', 'asker_changed'],
    ['a key with less', 'key', less, 'asker_changed'],
    ['a token for a key with less', 'token', less, 'asker_changed'],
    ['a key that may not ask', 'key', { approval: false }, 'asker_changed'],
    ['a key that may only look', 'key', { scopes: ['discovery'] }, 'asker_changed'],
    ['a token for a key that has ended', 'token', { expiresAt: '2020-01-01T00:00:00Z' }, 'asker_changed'],
    ['a removed key', 'key', 'revoke', 'asker_changed'],
  ] as const) {
    const { body: issued } = await askToken(server, { ...client, grant_type: 'client_credentials' });
    const headers = by === 'token' ? bearer(issued.access_token) : { 'X-RDCP-API-Key': agent.key };
    const asked = await server.request(PATHS.control, { ...post(enableHttp), headers });
    if (change === 'revoke' && by === 'key') await rewrite();
    else if (change === 'revoke') {
      await postForm(server, TOKEN_PATHS.revoke, { ...client, token: issued.access_token });
    } else if (change !== undefined) await rewrite({ ...agent.record, ...change } as ApiKeyRecord);
    const approved = await ask<ControlResponse & ErrorResponse>('owner', PATHS.approve, post({ id: idOf(asked.body) }));
    assert.equal(approved.body.error?.details?.reason, reason, `${what}: ${approved.text}`);
    assert.equal(server.gate.category('HTTP').enabled, reason === undefined, what);
    await ask('owner', PATHS.control, post({ action: 'reset' }));
    if (change !== undefined && !(change === 'revoke' && by === 'token')) await rewrite(agent.record);
  }
});

test('a change waits no longer than the token that asked for it', async (t) => {
  const time = virtualTime();
  const secret = 'a secret that the identity provider and this service share';
  const jwt = { issuer: 'https://login.example', audience: 'rdcp', algorithms: ['HS256' as const], secret };
  const server = await startServer(t, { clock: time.clock, config: { security: { apiKeys: RECORDS, jwt } } });
  const at = Math.floor(time.clock.now() / 1000);
  const token = await new SignJWT({ scope: 'control', otelrdcp_allow: ALLOW, otelrdcp_approval: true })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
    .setIssuer(jwt.issuer)
    .setAudience(jwt.audience)
    .setSubject('ann')
    .setIssuedAt(at)
    .setExpirationTime(at + 300)
    .sign(Buffer.from(secret));
  const asked = await server.request(PATHS.control, { ...post(enableHttp), headers: bearer(token) });
  assert.match(asked.body.error.message, /The change waits 5m for another identity/);
  time.suspend(300_000);
  assert.equal((await asking(server.url)('owner', PATHS.approve, post({ id: idOf(asked.body) }))).status, 404);
});

test('another process that shares the store approves it, also after a restart', async (t) => {
  const store = newStore(t);
  const first = await start(t, { store });
  const ids = [];
  for (const categories of [['HTTP'], ['HTTP', 'DB_POOL']]) {
    ids.push(idOf((await first.ask('agent', PATHS.control, post({ ...enableHttp, categories }))).body));
  }
  const second = await start(t, { store });
  const listed = (await second.ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting;
  assert.deepEqual(
    listed.map(({ id }) => id),
    ids.toReversed(),
  );
  assert.equal((await second.ask('owner', PATHS.approve, post({ id: ids[0] }))).status, 200);
  assert.equal((await first.ask<ApprovalsResponse>('owner', PATHS.approvals)).body.waiting.length, 1);
  await first.rdcp.close();
  await second.rdcp.close();
  const third = await start(t, { store });
  assert.equal((await third.ask('owner', PATHS.approve, post({ id: ids[1] }))).status, 200);
  const approved = (entry: AuditEntry) => entry.action === 'enable' && entry.otelrdcp_approval !== undefined;
  const { entries } = (await third.ask<AuditResponse>('owner', PATHS.audit)).body;
  assert.equal(entries.filter(approved).length, 2);
});

test('the change of a tenant is for who administers it or everybody, and for no other tenant', async (t) => {
  const acme = made({ clientId: 'acme', tenantId: 'acme', scopes: ['control'], allow: ALLOW, approval: true });
  const acmeOwner = made({ clientId: 'acme-owner', tenantId: 'acme', scopes: ['admin'] });
  const beta = made({ clientId: 'beta', tenantId: 'beta', scopes: ['admin'] });
  const owner = made({ clientId: 'owner', scopes: ['admin'] });
  const apiKeys = [acme, acmeOwner, beta, owner].map(({ record }) => record);
  const server = await startServer(t, { config: { tenancy: LEVELS.organization, security: { apiKeys } } });
  const ask = <T = ErrorResponse>({ key }: { readonly key: string }, path: string, request: TestRequest = {}) =>
    send<T>(server.url + path, { ...request, headers: { 'X-RDCP-API-Key': key } });
  const waits = async () => idOf((await ask(acme, PATHS.control, post({ action: 'enable', categories: 'HTTP' }))).body);
  const listed = async (who: typeof acme) => (await ask<ApprovalsResponse>(who, PATHS.approvals)).body.waiting.length;
  const id = await waits();
  assert.deepEqual([await listed(beta), await listed(acmeOwner), await listed(owner)], [0, 1, 1]);
  assert.equal((await ask(beta, PATHS.approve, post({ id }))).status, 404);
  const approved = await ask<ControlResponse>(acmeOwner, PATHS.approve, post({ id }));
  assert.deepEqual([approved.status, approved.body.tenant?.id], [200, 'acme']);
  assert.equal((await ask(owner, PATHS.approve, post({ id: await waits() }))).status, 200);
  assert.equal(server.plane.view({ key: 'acme', tenantId: 'acme' }).find(({ name }) => name === 'HTTP')?.enabled, true);
  assert.equal(server.plane.view({ key: '*' }).find(({ name }) => name === 'HTTP')?.enabled, false);
});
