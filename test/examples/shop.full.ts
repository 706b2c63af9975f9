import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { assertBuilt, ROOT } from '../support/built.ts';
import { start } from './child.ts';
import { shopEnvironment } from './running-shop.ts';

test('what npm start runs makes ten seconds of traffic with --once, finds every answer right and exits with 0', async () => {
  assertBuilt();
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };
  // The build is left out: other tests run what is built at this moment.
  const [build, command] = scripts.start.split(' && ');
  assert.match(build ?? '', /^npm run .*build$/);
  const env = await shopEnvironment();
  const child = await start('sh', ['-c', `exec ${command} --once`], {
    cwd: ROOT,
    env: {
      ...env,
      PATH: `${dirname(process.execPath)}${delimiter}${env.PATH}`,
      RDCP_API_KEY: 'a-key-of-this-test-alone-and-no-other',
    },
  });
  const code = await child.ended;
  assert.equal(code, 0, child.output.stderr);
  assert.match(child.output.stdout, /^\d+ requests, [1-9]\d* orders accepted$/m);
});
