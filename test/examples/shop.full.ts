import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { takenPort } from '../register/running.ts';
import { assertBuilt, ROOT } from '../support/built.ts';
import { until } from '../support/until.ts';
import { start } from './child.ts';
import { shopEnvironment, startShopOn } from './running-shop.ts';

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
      RDCP_SERVER_API_KEY: 'a-key-of-this-test-alone-and-no-other',
    },
  });
  const code = await child.ended;
  assert.equal(code, 0, child.output.stderr);
  assert.match(child.output.stdout, /^\d+ requests, [1-9]\d* orders accepted$/m);
});

describe('the example on ports that are taken', { concurrency: 2 }, () => {
  test('a SHOP_PORT that is none: it ends with one line', async (t) => {
    const child = await startShopOn(t, { SHOP_PORT: 'http' });
    assert.equal(await child.ended, 1);
    assert.match(child.output.stderr, /^shop: SHOP_PORT must be a number from 0 to 65535$/m);
  });

  test('the remote control: it is open, and prints nothing to try', async (t) => {
    const port = String(await takenPort(t, 'localhost'));
    const child = await startShopOn(t, { RDCP_HOST: 'localhost', RDCP_PORT: port });
    await until('what the shop says', () => (child.output.stdout.includes('RDCP_PORT') ? true : undefined));
    assert.match(child.output.stdout, /It has no remote control at/);
    assert.doesNotMatch(child.output.stdout, /curl|npx/);
    const inUse = new RegExp(`^rdcp: .*port ${port} is in use`, 'm');
    await until('what register says', () => (inUse.test(child.output.stderr) ? true : undefined));
  });

  test('the metrics: it prints what to try, without metrics', async (t) => {
    const port = String(await takenPort(t, 'localhost'));
    const child = await startShopOn(t, { OTEL_EXPORTER_PROMETHEUS_PORT: port });
    await until('the guide', () => (child.output.stdout.includes('Ctrl-C') ? true : undefined));
    assert.match(child.output.stdout, /^Metrics {8}none here/m);
    assert.ok(!child.output.stdout.includes(port));
    assert.match(child.output.stderr, new RegExp(`port ${port} is in use: choose another by OTEL_EXPORTER_`));
  });
});
