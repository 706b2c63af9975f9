import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ControlDocument, readDocument } from '../../src/access/tickets/verify.ts';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, ErrorResponse, StatusResponse } from '../../src/wire/messages.ts';
import { rdcp as command } from '../cli/run.ts';
import { service } from '../tickets/tickets.ts';
import { ISSUERS, signingService } from './signing-service.ts';

async function start(t: TestContext, record?: Partial<ApiKeyRecord>, config?: RdcpConfig) {
  const { ask, audit, env } = await signingService(t, record, config);
  const { rules } = service({ issuers: ISSUERS });
  return {
    env,
    ask,
    sign: <T = ControlResponse>(options: object = {}, categories: string | string[] = 'IMPORT', headers = {}) =>
      ask<T>(PATHS.control, {
        method: 'POST',
        body: { action: 'enable', categories, options: { otelrdcp_sign: true, ...options } },
        headers,
      }),
    read: (value = '') => readDocument(value, { ...rules, maxDuration: 24 * 3600 }, Date.now()),
    entries: async () => (await audit<AuditResponse>(PATHS.audit)).body.entries,
  };
}

test('a signed control switches nothing here, needs no category here, and is in the trail without values', async (t) => {
  const { sign, read, entries, ask } = await start(t);
  const options = { duration: '1h', reason: 'slow import', otelrdcp_target: { match: { 'user.id': '42' } } };
  const { status, body } = await sign(options, ['IMPORT', 'OWN']);
  assert.equal(status, 200);
  const { id, value, expiresAt } = body.otelrdcp_document!;
  assert.deepEqual([body.status, body.changes, body.categories], ['success', [], ['IMPORT', 'OWN']]);
  assert.equal(body.otelrdcp_activation, undefined);
  const document = read(value) as ControlDocument;
  assert.deepEqual(document, {
    id,
    issuer: 'https://ops.example',
    by: 'ops',
    issuedAt: document.issuedAt,
    controls: [
      {
        categories: ['IMPORT', 'OWN'],
        options: { reason: 'slow import', otelrdcp_target: options.otelrdcp_target },
        expiresAt: Date.parse(expiresAt),
      },
    ],
  });
  const left = Date.parse(expiresAt) - Date.parse(body.timestamp);
  assert.ok(left > 3_598_000 && left <= 3_600_000, `${left}`);
  assert.deepEqual((await ask<StatusResponse>(PATHS.status)).body.categories, { OWN: false });
  const [entry] = await entries();
  assert.deepEqual(
    [entry?.action, entry?.outcome, entry?.categories, entry?.changes, entry?.reason, entry?.identity.clientId],
    ['sign', 'success', ['IMPORT', 'OWN'], [], 'slow import', 'ops'],
  );
  assert.equal(entry?.otelrdcp_activation?.id, id);
  assert.match(JSON.stringify(entry?.otelrdcp_activation), /"user\.id":"hmac:/);
  assert.ok(!JSON.stringify(entry).includes(value));
});

test('without a duration a document ends after the default one; a retry gets the same document', async (t) => {
  const { sign, entries } = await start(t);
  const headers = { 'X-RDCP-Request-ID': 'once' };
  const [first, second] = [await sign({}, 'IMPORT', headers), await sign({}, 'IMPORT', headers)];
  assert.deepEqual(second.body, first.body);
  assert.equal(second.headers.get('X-RDCP-Replayed'), 'true');
  const { expiresAt } = first.body.otelrdcp_document!;
  assert.equal(Math.round((Date.parse(expiresAt) - Date.parse(first.body.timestamp)) / 60_000), 15);
  assert.equal((await entries()).length, 1);
});

test('what may not be switched may not be signed', async (t) => {
  const { sign, entries } = await start(t, { allow: { categories: ['IMPORT*'], maxDuration: '15m' } });
  assert.equal((await sign({ duration: '15m' }, 'IMPORT_ROWS')).status, 200);
  for (const [options, name, field] of [
    [{ duration: '16m' }, 'IMPORT', 'options.duration'],
    [{}, 'HTTP', 'categories'],
  ] as const) {
    const { status, body } = await sign<ErrorResponse>(options, name);
    assert.deepEqual([status, body.error.details?.field], [403, field]);
  }
  assert.deepEqual(
    (await entries()).map(({ outcome }) => outcome),
    ['denied', 'denied', 'success'],
  );
  const reader = await start(t, { scopes: ['discovery'] });
  assert.equal((await reader.sign()).status, 403);
});

test('what cannot be in a document is refused, and names its field', async (t) => {
  const { sign, ask } = await start(t);
  for (const [options, field] of [
    [{ temporary: false }, 'options.otelrdcp_sign'],
    [{ otelrdcp_dryRun: true }, 'options.otelrdcp_sign'],
    [{ otelrdcp_sign: false }, 'options.otelrdcp_sign'],
    [{ duration: '25h' }, 'options.duration'],
    [{ otelrdcp_target: { request: true } }, 'options.otelrdcp_target.request'],
    [{ otelrdcp_filter: { where: 'rows >' } }, 'options.otelrdcp_filter.where'],
    [{ otelrdcp_budget: { callsPerSecond: 1_000_000 } }, undefined],
  ] as const) {
    const { status, body } = await sign<ErrorResponse>(options, 'OWN');
    assert.deepEqual(
      [status >= 400 && status < 500, body.error.details?.field],
      [true, field],
      JSON.stringify(options),
    );
  }
  for (const action of ['disable', 'toggle', 'reset', 'status']) {
    const body = { action, categories: 'OWN', options: { otelrdcp_sign: true } };
    assert.equal((await ask(PATHS.control, { method: 'POST', body })).status, 400, action);
  }
});

test('a service without security.tokens says so', async (t) => {
  const { sign, entries } = await start(t, {}, { security: { tokens: undefined } });
  const { status, body } = await sign<ErrorResponse>();
  assert.deepEqual([status, body.error.details?.field], [400, 'options.otelrdcp_sign']);
  assert.match(body.error.message, /security\.tokens/);
  assert.deepEqual(await entries(), []);
});

for (const isolation of ['global', 'process', 'organization'] as const) {
  test(`a tenant's operator signs for that tenant alone, under isolation ${isolation}`, async (t) => {
    const { sign, read, ask } = await start(t, { tenantId: 'acme' }, { tenancy: { isolation } });
    const document = read((await sign()).body.otelrdcp_document?.value) as ControlDocument;
    assert.equal(document.controls[0]?.tenantId, 'acme');
    const options = { duration: '1m', otelrdcp_target: { request: true } };
    const body = { action: 'enable', categories: 'OWN', options };
    const { otelrdcp_request: ticket } = (await ask<ControlResponse>(PATHS.control, { method: 'POST', body })).body;
    const [, payload = ''] = ticket?.baggage.split('=')[1]?.split('.') ?? [];
    assert.equal(JSON.parse(Buffer.from(payload, 'base64url').toString()).tenant, 'acme');
  });
}

test('rdcp enable --print prints the document alone, and says on stderr what it does', async (t) => {
  const { env, read } = await start(t);
  const args = ['enable', 'import', '-m', 'user.id=42', '--for', '30m', '--calls', '5', '--reason', 'why', '--print'];
  const { code, stdout, stderr } = await command(args, { env });
  assert.equal(code, 0, stderr);
  const { controls, id } = read(stdout) as ControlDocument;
  assert.deepEqual(controls[0]?.options, {
    reason: 'why',
    otelrdcp_budget: { calls: 5 },
    otelrdcp_target: { match: { 'user.id': '42' } },
  });
  assert.match(stderr, new RegExp(`^Signed document ${id}: IMPORT on for 30m, until .*, where it is followed\\.\n$`));
  const json = await command(['enable', 'IMPORT', '--print', '-o', 'json'], { env });
  assert.equal(typeof read(JSON.parse(json.stdout).otelrdcp_document.value), 'object');
});

test('rdcp enable --print refuses what makes no document', async (t) => {
  const { env } = await start(t);
  for (const [args, message] of [
    [['IMPORT', '--permanent'], /--permanent/],
    [['IMPORT', '--forecast'], /--forecast/],
    [['IMPORT', '--dry-run'], /--dry-run/],
    [['IMP*'], /needs names, not a pattern \(IMP\*\)/],
  ] as const) {
    const { code, stdout, stderr } = await command(['enable', ...args, '--print'], { env });
    assert.deepEqual([code, stdout], [2, ''], stderr);
    assert.match(stderr, message);
  }
});
