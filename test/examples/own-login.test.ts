import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../support/until.ts';
import { type Expected, followGuide, type Guided, startGuided } from './guided.ts';
import { withProgram } from './required-program.ts';

const EXPECTED: Expected = [
  ['answered', /^$/],
  ['answered', /"userId":"ada".*"scopes":\["discovery","status","control"\].*"sessionId"/],
  ['answered', /"status":"success"/],
  ['answered', /^Hello, ada$/m],
  ['answered', /^$/],
  ['answered', /"GREETINGS":true/],
  ['answered', /"RDCP_FORBIDDEN".*"insufficient_scopes"/],
  ['answered', /"RDCP_AUTH_REQUIRED"/],
];

describe('the example with a login of its own', () => {
  let example: Guided;
  before(async () => {
    example = await startGuided('examples/own-login/main.ts', { env: { PORT: '0' } });
  });
  after(() => example.end());

  test('every command of its guide works as it stands, and shows what the guide says', async (t) => {
    await withProgram(t, 'curl', async () => {
      await followGuide(example, EXPECTED);
      const { output } = example.child;
      await until('a greeting', () => (/DEBUG GREETINGS .*"user\.id":"ada"/.test(output.stderr) ? true : undefined));
    });
  });

  test('it keeps to its folder, prints no password, and ends with exit code 0', async () => {
    assert.deepEqual(readdirSync(example.cwd), ['.rdcp']);
    const { stdout, stderr } = example.child.output;
    for (const name of ['ada', 'ben']) {
      const password = readFileSync(join(example.cwd, `.rdcp/own-login/${name}.password`), 'utf8');
      assert.ok(password.length > 20 && !(stdout + stderr).includes(password));
    }
    assert.equal(await example.child.end(), 0, example.child.output.stderr);
  });
});
