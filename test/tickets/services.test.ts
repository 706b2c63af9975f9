import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';
import { announced, KEY, start } from '../register/running.ts';
import { freePort } from '../support/free-port.ts';
import { send } from '../support/server.ts';
import { until } from '../support/until.ts';

const signingKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** An HTTP service that calls a category with the path, and the service that a request names with the path and the baggage. */
const APP = `
import { createServer } from 'node:http';
const database = category('DATABASE');
const server = createServer(async ({ url, headers: { baggage, next } }, response) => {
  database.debug(url);
  if (next !== undefined) await fetch(next + url, { headers: baggage ? { baggage } : {} });
  response.end();
});
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port));`;

async function service(t: TestContext, config: object, port = 0) {
  const running = await start(t, {
    app: APP,
    env: { RDCP_CONFIG: 'rdcp.json', RDCP_PORT: String(port), RDCP_SERVER_API_KEY: KEY, OTEL_TRACES_EXPORTER: 'none' },
    files: { 'rdcp.json': JSON.stringify({ emit: { to: 'json' }, announce: false, ...config }), 'key.pem': signingKey },
  });
  const { url } = await announced(running);
  const shop = await until('the service listens', () => /^(\S+)\n/.exec(running.output.stdout)?.[1]);
  /** The paths of the lines so far. */
  const lines = () =>
    running.output.stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => String((JSON.parse(line) as { message?: unknown }).message));
  return { url, shop, lines };
}

test('a signed ticket has a category on in two services that share no store, for its requests alone', async (t) => {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  // The issuer first: whoever cannot fetch its keys tries again after half a minute.
  const orders = await service(
    t,
    { security: { tokens: { issuer, audience: 'rdcp', signingKeyFile: 'key.pem' } } },
    port,
  );
  const stock = await service(t, {
    security: { tickets: { issuers: [{ issuer, audience: 'rdcp', jwksUri: issuer + TOKEN_PATHS.jwks }] } },
  });
  const options = { otelrdcp_target: { request: true }, duration: '2h' };
  const { status, body } = await send<ControlResponse>(orders.url + PATHS.control, {
    method: 'POST',
    headers: { 'X-RDCP-API-Key': KEY },
    body: { action: 'enable', categories: 'DATABASE', options },
  });
  assert.equal(status, 200);
  const { baggage, expiresAt } = body.otelrdcp_request!;
  assert.match(baggage, /^rdcp\.debug=eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
  assert.ok(Date.parse(expiresAt) - Date.parse(body.timestamp) <= 3_600_000, 'a ticket lasts an hour at most');

  const visit = (path: string, headers: Record<string, string> = {}) =>
    fetch(orders.shop + path, { headers: { ...headers, next: stock.shop } });
  await until('the keys are fetched', async () => {
    await visit('/ready', { baggage });
    return stock.lines().includes('/ready');
  });
  await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      visit(at % 10 === 0 ? `/with/${at}` : '/without', at % 10 === 0 ? { baggage } : {}),
    ),
  );
  const expected = ['/with/0', '/with/10', '/with/20', '/with/30', '/with/40', '/with/50'];
  for (const each of [orders, stock]) {
    await until('all lines are there', () => each.lines().filter((line) => line !== '/ready').length >= 6);
    assert.deepEqual(
      each
        .lines()
        .filter((line) => line !== '/ready')
        .sort(),
      expected,
    );
  }
});
