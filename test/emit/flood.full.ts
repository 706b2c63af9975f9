// Measures, so nothing runs beside it: the throughput of a flooded service.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

test('beside a million calls a second every line of a quiet category comes out, and each call is accounted for', async () => {
  const app = fork(join(import.meta.dirname, 'hot-app.ts'), ['1500'], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const [output, [counted]] = await Promise.all([text(app.stderr!), once(app, 'message')]);
  const records = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { category: string; severity: string; attributes: Record<string, unknown> });
  const of = (category: string, severity: string) =>
    records.filter((record) => record.category === category && record.severity === severity);
  assert.ok(counted.hot > 100_000, `${counted.hot} calls were made`);
  assert.equal(of('HOT', 'DEBUG').length + counted.dropped, counted.hot);
  const most = 1000 + 500 * (counted.milliseconds / 1000) + 50;
  assert.ok(of('HOT', 'DEBUG').length <= most, `${of('HOT', 'DEBUG').length} lines, at most ${most}`);
  assert.deepEqual([of('QUIET', 'DEBUG').length, counted.quietDropped], [counted.quiet, 0]);
  const reported = of('HOT', 'WARN').reduce((sum, { attributes }) => sum + Number(attributes['rdcp.dropped.count']), 0);
  assert.equal(reported, counted.dropped, 'the records about it name every drop');
  assert.ok(!output.includes('hunter2'));
});
