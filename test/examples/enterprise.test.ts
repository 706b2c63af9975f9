import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Child, start, until } from './child.ts';
import { withProgram } from './required-program.ts';
import { assertBuilt, ROOT } from './running-shop.ts';

/**
 * What becomes of each command of the guide, in their order, and what it prints. A connection that is refused makes curl
 * fail, with a code that depends on when it sees that.
 */
const EXPECTED: readonly (readonly [outcome: 'answered' | 'refused', output: RegExp])[] = [
  ['answered', /"method":"mtls","userId":"operator".*"scopes":\["admin"\]/],
  ['answered', /"id":"acme".*"id":"globex"/],
  ['answered', /^$/],
  ['answered', /"method":"hybrid","userId":"acme-engineer","tenantId":"acme"/],
  ['answered', /"tenant":\{"id":"acme".*"status":"success".*"temporary":true/],
  ['refused', /^$/],
  ['answered', /"RDCP_AUTH_FAILED".*"invalid_certificate"/],
  ['answered', /"RDCP_AUTH_FAILED".*"invalid_token"/],
  ['answered', /"RDCP_FORBIDDEN".*"tenant_mismatch"/],
  ['answered', /"action":"enable".*"reason":"a wrong tax rule".*"securityLevel":"enterprise"/],
  ['answered', /^$/],
  ['refused', /^$/],
];

describe('the enterprise example', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'rdcp-enterprise-'));
  let example: Child;

  before(async () => {
    assertBuilt();
    const inherited = Object.entries(process.env).filter(([name]) => !/^(OTEL|RDCP|NODE)_/.test(name));
    const env = { ...Object.fromEntries(inherited), RDCP_PORT: '0' };
    example = await start(process.execPath, [join(ROOT, 'examples/enterprise/start.ts')], { cwd, env });
    await until('its guide', () => (example.output.stdout.includes('Ctrl-C') ? true : undefined)).catch((error) => {
      throw new Error(`the example did not start: ${example.output.stderr}`, { cause: error });
    });
  });
  after(async () => {
    await example.end();
    rmSync(cwd, { recursive: true });
  });

  test('every command of its guide works as it stands, and shows what the guide says', async (t) => {
    const commands = example.output.stdout.split('\n').filter((line) => line.startsWith('  '));
    assert.equal(commands.length, EXPECTED.length);
    await withProgram(t, 'curl', async () => {
      for (const [index, command] of commands.entries()) {
        const [outcome, output] = EXPECTED[index] ?? [];
        const child = await start('sh', ['-c', command], { cwd });
        const ended = await child.ended;
        const told = `${command}: ${child.output.stdout}${child.output.stderr}`;
        assert.equal(ended === 0 ? 'answered' : 'refused', outcome, told);
        assert.match(child.output.stdout, output ?? /./, told);
      }
      const shown = await until('an invoice', () => /DEBUG INVOICES .*/.exec(example.output.stderr)?.[0]);
      assert.match(shown, /"billing\.customer":"acme"/);
      assert.doesNotMatch(example.output.stderr, /globex/);
    });
  });

  test('what it makes lies in one folder, and private keys are for its owner alone', () => {
    assert.deepEqual(readdirSync(cwd), ['.rdcp']);
    const folder = join(cwd, '.rdcp/enterprise');
    const secrets = readdirSync(folder).filter((file) => /\.(key|api-key)$/.test(file));
    assert.equal(secrets.length, 8);
    for (const file of secrets) assert.equal(statSync(join(folder, file)).mode & 0o077, 0, file);
    assert.match(readFileSync(join(ROOT, '.gitignore'), 'utf8'), /^\.rdcp\/$/m);
  });

  test('it prints no credential', () => {
    const { stdout, stderr } = example.output;
    assert.doesNotMatch(stdout + stderr, /rdcp_\w+_v\d|eyJ|PRIVATE/);
  });

  test('SIGTERM ends it with exit code 0', async () => {
    assert.equal(await example.end(), 0, example.output.stderr);
  });
});
