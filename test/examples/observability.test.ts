import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { dashboard } from '../../examples/observability/dashboard.ts';
import { FOLDER } from './prometheus.ts';
import { withProgram } from './required-program.ts';

const run = promisify(execFile);
const promtool = (...args: string[]) => run('promtool', args, { cwd: FOLDER });

test('dashboard.json is what dashboard.ts makes', () => {
  const committed: unknown = JSON.parse(readFileSync(join(FOLDER, 'dashboard.json'), 'utf8'));
  assert.deepEqual(committed, JSON.parse(JSON.stringify(dashboard())), 'run node examples/observability/dashboard.ts');
});

test('promtool accepts the configuration and the rules', async (t) => {
  await withProgram(t, 'promtool', async () => {
    const { stdout } = await promtool('check', 'config', 'prometheus.yml');
    assert.match(stdout, /2 rule files found/);
    await promtool('check', 'rules', 'rules/rdcp.recording.yml', 'rules/rdcp.alerts.yml');
  });
});

test('the rules do what their unit tests say, and every alert has one', async (t) => {
  await withProgram(t, 'promtool', async () => {
    await promtool('test', 'rules', 'rules.test.yml');
  });
  const alerts = [...readFileSync(join(FOLDER, 'rules/rdcp.alerts.yml'), 'utf8').matchAll(/- alert: (\w+)/g)];
  const tests = readFileSync(join(FOLDER, 'rules.test.yml'), 'utf8');
  assert.ok(alerts.length > 0);
  for (const [, name] of alerts) {
    assert.match(tests, new RegExp(`alertname: ${name}\\n\\s+exp_alerts:\\n`), `no test expects ${name}`);
  }
});
