import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRdcp } from '../../src/index.ts';
import { rdcp as command } from '../cli/run.ts';
import { KEYS, type KeyName, send } from '../support/server.ts';
import { startService } from '../support/service.ts';

interface Answer {
  readonly status?: string;
  readonly checks?: readonly { readonly name: string; readonly status: string; readonly otelrdcp_reason?: string }[];
}

const PATHS = ['/.well-known/rdcp', '/rdcp/v1/health'];

test('only a credential with the scope status sees where debug calls go', async (t) => {
  const { url } = await startService(t, { emit: undefined });
  const emitOf = async (path: string, key?: KeyName) =>
    (await send<{ otelrdcp_emit?: object }>(url + path, key && { key })).body.otelrdcp_emit;
  for (const path of PATHS) {
    const reason = 'no OpenTelemetry logger provider is registered';
    assert.deepEqual(await emitOf(path, 'status'), { to: 'stderr', reason });
    assert.deepEqual([await emitOf(path, 'discovery'), await emitOf(path)], [undefined, undefined], path);
  }
});

test('health is degraded, and says why, where debug calls go nowhere', async (t) => {
  const { url } = await startService(t, { emit: { to: 'otel' } });
  const { status, checks } = (await send<Answer>(`${url}/rdcp/v1/health`, { key: 'status' })).body;
  assert.equal(status, 'degraded');
  const failed = checks?.find(({ name }) => name === 'emit');
  assert.equal(failed?.status, 'warn');
  assert.match(failed?.otelrdcp_reason ?? '', /debug lines go nowhere: .*no OpenTelemetry logger provider/);
  const { stdout } = await command(['health', '--url', url], { env: { RDCP_API_KEY: KEYS.status } });
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
