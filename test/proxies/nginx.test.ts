import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withProgram } from '../examples/required-program.ts';
import { startNginx } from './nginx.ts';
import { ADMIN, askOverTls, startService } from './recipe.ts';

test('the recipe for nginx: TLS ends there, and requests, limits and the trail are of the client', (t) =>
  withProgram(t, 'nginx', async () => {
    const service = await startService(t, 'nginx', [], { limits: { anonymousPerMinute: 3 } });
    const { port, cert } = await startNginx(t, service);
    const ask = (asked: Parameters<typeof askOverTls>[2]) => askOverTls(port, cert, asked);

    const health = await ask({});
    assert.equal(health.status, 200);
    assert.match(String(health.headers['strict-transport-security']), /max-age/);
    assert.equal((await ask({ path: '/.well-known/rdcp' })).status, 200);
    assert.equal((await ask({ path: '/elsewhere' })).status, 404);
    const body = JSON.stringify({ action: 'status' });
    const headers = { ...ADMIN, Origin: 'https://debug.example.com', 'X-RDCP-Request-ID': 'switched' };
    assert.equal((await ask({ method: 'POST', path: '/rdcp/v1/control', headers, body })).status, 200);
    const foreign = await ask({ headers: { Host: 'elsewhere.example' } });
    assert.equal(foreign.status, 403);
    assert.match(foreign.text, /server\.allowedHosts/);

    // What a client says of its own address is not believed, by whichever header.
    const forged = { 'X-Forwarded-For': '203.0.113.9', Forwarded: 'for=203.0.113.9' };
    const wrong = { 'X-RDCP-API-Key': 'wrong'.repeat(10), ...forged };
    const statuses = [];
    for (let index = 0; index < 5; index += 1) {
      statuses.push((await ask({ path: '/rdcp/v1/status', headers: wrong, from: '127.0.0.3' })).status);
    }
    assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
    assert.equal(
      (await ask({ path: '/rdcp/v1/status', from: '127.0.0.4' })).status,
      401,
      'another client is not limited',
    );
    const entries = await service.audit();
    assert.equal(entries.find(({ requestId }) => requestId === 'switched')?.source?.address, '127.0.0.2');
    const refused = entries.filter(({ outcome }) => outcome === 'denied').map(({ source }) => source?.address);
    assert.deepEqual([...new Set(refused)].sort(), ['127.0.0.2', '127.0.0.3', '127.0.0.4']);
  }));
