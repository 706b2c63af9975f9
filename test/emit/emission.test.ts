import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRdcp, type RdcpConfig } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { rdcp as command } from '../cli/run.ts';

async function service(t: TestContext, emit: RdcpConfig['emit']) {
  const status = makeKey();
  const discovery = makeKey({ id: 'k2', scopes: ['discovery'] });
  const rdcp = createRdcp({
    server: { port: 0 },
    security: { apiKeys: [status.record, discovery.record] },
    logger: { info() {}, warn() {}, error() {} },
    ...(emit !== undefined && { emit }),
  });
  t.after(() => rdcp.close());
  const { url } = await rdcp.listen();
  const get = async (path: string, key?: string) => {
    const response = await fetch(url + path, key === undefined ? {} : { headers: { 'X-RDCP-API-Key': key } });
    return (await response.json()) as Record<string, unknown>;
  };
  return { url, get, keys: { status: status.key, discovery: discovery.key } };
}

const PATHS = ['/.well-known/rdcp', '/rdcp/v1/health'];

test('only a credential with the scope status sees where debug calls go', async (t) => {
  const { get, keys } = await service(t, undefined);
  for (const path of PATHS) {
    assert.deepEqual((await get(path, keys.status)).otelrdcp_emit, {
      to: 'stderr',
      reason: 'no OpenTelemetry logger provider is registered',
    });
    for (const key of [keys.discovery, undefined]) assert.ok(!('otelrdcp_emit' in (await get(path, key))), path);
  }
});

test('health is degraded, and says why, where debug calls go nowhere', async (t) => {
  const { url, get, keys } = await service(t, { to: 'otel' });
  const { status, checks } = await get('/rdcp/v1/health', keys.status);
  assert.equal(status, 'degraded');
  const failed = (checks as { name: string; status: string; otelrdcp_reason?: string }[]).find(
    (it) => it.name === 'emit',
  );
  assert.equal(failed?.status, 'warn');
  assert.match(failed?.otelrdcp_reason ?? '', /debug lines go nowhere: .*no OpenTelemetry logger provider/);
  const { stdout } = await command(['health', '--url', url], { env: { RDCP_API_KEY: keys.status } });
  assert.match(
    stdout,
    /^degraded\ndebug lines to OpenTelemetry \(emit\.to is configured, but no OpenTelemetry logger provider is registered\)$/m,
  );
});

test('a wrong place for debug calls stops the start, and names what is allowed', () => {
  for (const to of ['console', 7, {}]) {
    assert.throws(
      () => createRdcp({ server: false, emit: { to: to as 'otel' } }),
      /configuration: emit\.to must be 'otel', 'stderr', 'both', 'json' or a function/,
    );
  }
});
