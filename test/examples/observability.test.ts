import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { dashboard } from '../../examples/observability/dashboard.ts';
import { ROOT } from '../support/built.ts';
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

test('every alert leads to the section about it in the documents', () => {
  const rules = readFileSync(join(FOLDER, 'rules/rdcp.alerts.yml'), 'utf8');
  const { groups } = parse(rules) as {
    groups: { rules: { alert: string; annotations: { runbook_url?: string } }[] }[];
  };
  const document = readFileSync(join(ROOT, 'docs/messages.md'), 'utf8');
  for (const { alert, annotations } of groups.flatMap((group) => group.rules)) {
    const { pathname, hash } = new URL(annotations.runbook_url ?? assert.fail(`${alert} has no runbook_url`));
    assert.deepEqual([pathname, hash], ['/docs/messages.html', `#${alert.toLowerCase()}`]);
    assert.match(document, new RegExp(`^### ${alert}$`, 'm'), alert);
  }
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
