// The CommonJS files of the package, in a Node.js that requires no ES module: conditions are evaluated.

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { createRdcp } = require('opentelemetry-instrumentation-rdcp');
const { createRdcpClient } = require('opentelemetry-instrumentation-rdcp/client');

async function main() {
  const apiKey = 'a-secret-of-thirty-two-characters';
  const hash = `sha256:${createHash('sha256').update(apiKey).digest('hex')}`;
  const lines = [];
  const rdcp = createRdcp({
    server: { port: 0 },
    emit: { to: (line) => void lines.push(line.attributes) },
    security: { apiKeys: [{ id: 'k', hash, clientId: 'ops', scopes: ['control', 'admin'] }] },
  });
  const orders = rdcp.category('ORDERS');
  const client = createRdcpClient({ baseUrl: (await rdcp.listen()).url, apiKey });
  await client.enable('ORDERS', { duration: '1m', otelrdcp_filter: { where: 'rows > 1' } });
  for (const rows of [1, 2]) orders.debug('placed', { rows });
  assert.deepEqual(lines, [{ rows: 2 }]);
  assert.throws(() => require('./service.ts'), { code: 'ERR_REQUIRE_ESM' });
  await rdcp.close();
}
main();
