// Node.js as old libraries and options of its own alter it: the whole way of a request, in the built package.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcpClient } from '../../src/client.ts';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import { built } from '../support/built.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { announced, KEY, REGISTER, start } from './running.ts';

const CONFIG = {
  categories: { PAYMENTS: { description: 'cards' } },
  security: {
    apiKeys: [
      { id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin', 'control', 'discovery', 'status'] },
    ],
    tokens: { issuer: 'shop', audience: 'rdcp', secret: 'a secret of at least thirty-two bytes' },
  },
};
const APP = `
  const payments = category('PAYMENTS');
  setInterval(() => payments.debug('charging', { order: 42, password: 'x' }), 20);`;

const OLD_EXTEND = 'Object.prototype.extendWith = function () { return this; };';
const OLD_LAST = 'Array.prototype.last = function () { return this[this.length - 1]; };';
const importing = (code: string) => ['--import', `data:text/javascript,${encodeURIComponent(code)}`];

describe('an enumerable member of a prototype', { concurrency: 2 }, () => {
  it('of Object, added before the package: one line says so before the application runs', async (t) => {
    const run = await start(t, {
      options: [...importing(OLD_EXTEND), '--import', REGISTER],
      app: `console.log('ran');`,
    });
    assert.deepEqual(await run.closed, [1, null]);
    assert.equal(run.output.stdout, '');
    assert.match(
      run.output.stderr,
      /^rdcp: .*Object\.prototype got the enumerable member extendWith: load it before .*\n$/,
    );
  });

  it('of Object, added by the application: it is asked and listed as before, and what cannot be read is said', async (t) => {
    const run = await start(t, {
      config: CONFIG,
      options: ['--import', REGISTER],
      app: OLD_EXTEND + APP,
    });
    const { url } = await announced(run);
    const client = createRdcpClient({ baseUrl: url, apiKey: KEY });
    assert.deepEqual(
      (await client.discovery()).categories.map(({ name }) => name).filter((name) => name === 'PAYMENTS'),
      ['PAYMENTS'],
    );
    await assert.rejects(client.enable('PAYMENTS'), { code: 'RDCP_SERVER_ERROR' });
    await run.until(() =>
      /^rdcp: POST \/rdcp\/v1\/control failed: .*member extendWith; see docs\/messages\.md#internal-errors$/m.test(
        run.output.stderr,
      ),
    );
    for await (const { event, data } of client.tail(['PAYMENTS'])) {
      if (event !== 'line') continue;
      assert.deepEqual(data.attributes, { order: 42, password: '[redacted]' });
      break;
    }
  });

  it('of Array, added before, is in nothing that the endpoint, the command and the lines have', async (t) => {
    const run = await start(t, {
      config: CONFIG,
      options: [...importing(OLD_LAST), '--import', REGISTER],
      app: APP,
    });
    const { url } = await announced(run);
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'ops', client_secret: KEY });
    const login = await fetch(url + TOKEN_PATHS.token, { method: 'POST', body });
    const { access_token: token } = (await login.json()) as { access_token: string };
    const client = createRdcpClient({ baseUrl: url, token });
    assert.equal(
      (await client.discovery()).categories.some(({ name }) => name === 'PAYMENTS'),
      true,
    );
    const { status } = await client.control({
      action: 'enable',
      categories: ['PAYMENTS'],
      options: { duration: '1m', otelrdcp_filter: { where: 'order == 42' } },
    });
    assert.equal(status, 'success');
    assert.equal((await client.forecast(['PAYMENTS'], { duration: 1 })).instances.answered, 1);
    for await (const { event, data } of client.tail(['PAYMENTS'], { filter: { where: 'order == 42' } })) {
      if (event !== 'line') continue;
      assert.deepEqual(data.attributes, { order: 42, password: '[redacted]' });
      break;
    }
    await run.until(() => /DEBUG PAYMENTS charging \{"order":42,"password":"\[redacted\]"\}\n/.test(run.output.stderr));
    for (const [args, said] of [
      [['list', '-o', 'json'], /"PAYMENTS"/],
      [['status'], /PAYMENTS/],
      [['tail', 'PAYMENTS', '--where', 'order == 42', '--lines', '1', '--for', '20s'], /charging.*order=42 password=/],
      [['end', 'PAYMENTS'], /PAYMENTS/],
      [['audit'], /enable/],
    ] as const) {
      const env = { ...PROGRAM_ENV, RDCP_URL: url, RDCP_API_KEY: KEY };
      const command = [...importing(OLD_LAST), built('cli/main.js'), ...args];
      const { stdout } = await promisify(execFile)(process.execPath, command, { env });
      assert.match(stdout, said, args.join(' '));
      assert.doesNotMatch(stdout, /extendWith/);
    }
    assert.doesNotMatch(run.output.stderr, /extendWith|SERVER_ERROR/);
  });
});

describe('an option of Node.js under which Koa cannot be loaded', { concurrency: 2 }, () => {
  for (const flag of ['--disallow-code-generation-from-strings', '--frozen-intrinsics']) {
    it(`${flag}: the line names it and where to look, and the application runs`, async (t) => {
      const run = await start(t, {
        env: { RDCP_SERVER_API_KEY: KEY },
        options: [flag, '--no-warnings', '--import', REGISTER],
        app: `process.stdin.resume(); console.log('runs');`,
      });
      const line = `rdcp: the endpoint did not start: the endpoint cannot run under Node.js's ${flag}; see docs/messages.md#options-of-nodejs\n`;
      await run.until(() => run.output.stderr.includes(line));
      run.child.stdin.end();
      assert.deepEqual(await run.closed, [0, null], run.output.stderr);
      assert.equal(run.output.stdout, 'runs\n');
    });
  }
});
