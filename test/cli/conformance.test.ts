import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createRdcp } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { put } from '../conformance/self/fault-kinds.ts';
import { serve } from '../conformance/self/handler.ts';
import { KEYS } from '../conformance/self/reference-credentials.ts';
import { referenceServer } from '../conformance/self/reference-server.ts';
import { rdcp } from './run.ts';

describe('rdcp conformance', () => {
  const admin = makeKey({ id: 'admin', scopes: ['admin'] });
  const service = createRdcp({
    server: { port: 0 },
    security: { apiKeys: [admin.record] },
    limits: { controlPerMinute: 100_000, readPerMinute: 100_000, anonymousPerMinute: 100_000 },
    announce: false,
  });
  service.category('CONFORMANCE_CLI');
  let url = '';
  before(async () => {
    url = (await service.listen()).url;
  });
  after(() => service.close());
  const env = { RDCP_API_KEY: admin.key };

  it('only reads: no request but GET, HEAD and OPTIONS leaves it', async (t) => {
    const methods = new Set<string>();
    const handler = referenceServer();
    const served = await serve((request, ...rest) => {
      methods.add(String(request.method));
      return handler(request, ...rest);
    });
    t.after(() => served.close());
    const { code, stdout, stderr } = await rdcp(['conformance', '--url', served.url, '-o', 'json'], {
      env: { RDCP_API_KEY: KEYS.main },
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      [...methods].filter((method) => !['GET', 'HEAD', 'OPTIONS'].includes(method)),
      [],
    );
    const { results, leftOver } = JSON.parse(stdout);
    const outcomes = (outcome: string) =>
      results.filter((each: { outcome: string }) => each.outcome === outcome).length;
    assert.ok(outcomes('PASS') > 50, `${outcomes('PASS')} passed`);
    assert.ok(outcomes('SKIP') > 20);
    assert.deepEqual([outcomes('FAIL'), leftOver], [0, []]);
    assert.match(stderr, /--changes checks the rest\.\n$/);
  });

  it('leaves no change in a service, and with --changes puts back what it switched', async () => {
    const changes = async () => {
      const { stdout } = await rdcp(['audit', '--limit', '1000', '-o', 'json', '--url', url], { env });
      return JSON.parse(stdout).entries.filter(({ changes }: { changes: unknown[] }) => changes.length > 0).length;
    };
    const run = (...args: string[]) => rdcp(['conformance', '--url', url, '--level', '1', ...args], { env });
    assert.equal((await run()).code, 0);
    assert.equal(await changes(), 0);
    const { code, stdout } = await run('--changes', '--only', 'L1-CTRL');
    assert.equal(code, 0, stdout);
    assert.ok((await changes()) > 0);
    assert.equal(service.category('CONFORMANCE_CLI').enabled, false);
  });

  it('ends with 1 where a MUST is broken, 4 where nobody answers, 2 for wrong use', async (t) => {
    const served = await serve(put('status', 'protocol', 'rdcp/2.0')(referenceServer()));
    t.after(() => served.close());
    const broken = await rdcp(['conformance', '--url', served.url, '--only', 'L1-STAT-02'], {
      env: { RDCP_API_KEY: KEYS.main },
    });
    assert.equal(broken.code, 1);
    assert.match(broken.stdout, /L1-STAT-02 {2}MUST {3}FAIL .*\n\s+expected: protocol to be "rdcp\/1\.0"/);
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const silent = await rdcp(['conformance', '--url', `http://127.0.0.1:${port}`]);
    assert.equal(silent.code, 4);
    assert.match(silent.stderr, /^rdcp: RDCP_UNAVAILABLE: The server at http:\S+ cannot be reached \(ECONNREFUSED;/);
    for (const args of [['--level', '4'], ['--exhaust'], ['--url', 'ftp://host']]) {
      assert.equal((await rdcp(['conformance', ...args])).code, 2, args.join(' '));
    }
  });

  it('--checks lists them', async () => {
    assert.match((await rdcp(['conformance', '--checks'])).stdout, /^L1-WELL-01 +MUST +GET \/\.well-known\/rdcp: /m);
    const { checks } = JSON.parse((await rdcp(['conformance', '--checks', '-o', 'json'])).stdout);
    assert.ok(checks.length > 50 && checks.every(({ id }: { id: string }) => id !== ''));
  });
});
