import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ROOT } from '../support/built.ts';

import { until } from '../support/until.ts';
import { type Expected, followGuide, type Guided, startGuided } from './guided.ts';
import { withProgram } from './required-program.ts';

const EXPECTED: Expected = [
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
  let example: Guided;
  before(async () => {
    example = await startGuided('examples/enterprise/start.ts', { env: { RDCP_PORT: '0' } });
  });
  after(() => example.end());

  test('every command of its guide works as it stands, and shows what the guide says', async (t) => {
    await withProgram(t, 'curl', async () => {
      await followGuide(example, EXPECTED);
      const { output } = example.child;
      const shown = await until('an invoice', () => /DEBUG INVOICES .*/.exec(output.stderr)?.[0]);
      assert.match(shown, /"billing\.customer":"acme"/);
      assert.doesNotMatch(output.stderr, /globex/);
    });
  });

  test('what it makes lies in one folder, and private keys are for its owner alone', () => {
    assert.deepEqual(readdirSync(example.cwd), ['.rdcp']);
    const folder = join(example.cwd, '.rdcp/enterprise');
    const secrets = readdirSync(folder).filter((file) => /\.(key|api-key)$/.test(file));
    assert.equal(secrets.length, 8);
    for (const file of secrets) assert.equal(statSync(join(folder, file)).mode & 0o077, 0, file);
    assert.match(readFileSync(join(ROOT, '.gitignore'), 'utf8'), /^\.rdcp\/$/m);
  });

  test('it prints no credential', () => {
    const { stdout, stderr } = example.child.output;
    assert.doesNotMatch(stdout + stderr, /rdcp_\w+_v\d|eyJ|PRIVATE/);
  });

  test('SIGTERM ends it with exit code 0', async () => {
    assert.equal(await example.child.end(), 0, example.child.output.stderr);
  });
});
