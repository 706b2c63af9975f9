// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runWork } from '../../src/api.ts';
import type { DebugRecord } from '../../src/index.ts';
import { until } from '../support/until.ts';
import { realService } from './service.ts';

describe('lines of failed or slow work alone', () => {
  const lines: DebugRecord[] = [];
  const { service, rdcp } = realService({ emit: { to: (line: DebugRecord) => void lines.push(line) } });
  const database = service.category('FAIL_POOL');
  const job = (fails: boolean) =>
    runWork('invoice', () => {
      database.debug('first', { rows: 1 });
      database.debug('second');
      if (fails) database.fail(new TypeError('secret'));
    });

  it('enable --on-error writes them, and list says how many', async () => {
    const { stdout } = await rdcp(['enable', 'FAIL_POOL', '--on-error', '--slower-than', '2s', '--for', '1h']);
    assert.match(stdout, /^FAIL_POOL on for failures, work slower than 2s, for 1h, until /m);
    job(false);
    job(true);
    assert.deepEqual(
      lines.map(({ message }) => message),
      ['first', 'second'],
    );
    assert.match(
      (await rdcp(['list'])).stdout,
      /^FAIL_POOL +on +recording failures, work slower than 2s, 2 written, /m,
    );
    const { stdout: listed } = await rdcp(['list', '-o', 'json']);
    const category = JSON.parse(listed).categories.find((each: { name: string }) => each.name === 'FAIL_POOL');
    assert.deepEqual(category.otelrdcp_recorder, { written: 2, forgotten: 2, cut: 0 });
    assert.deepEqual(category.otelrdcp_activations[0].when, { failed: true, slowerThan: '2s' });
    const { stdout: trail } = await rdcp(['audit', '-o', 'json']);
    assert.match(trail, /"when": ?\{\s*"failed": ?true/);
    assert.match((await rdcp(['end', 'FAIL_POOL'])).stdout, /1 activation ended/);
    job(true);
    assert.equal(lines.length, 2);
  });

  it('tail --on-error shows them by work, with a line that says what failed', async () => {
    const over = new AbortController();
    let shown = '';
    const tailing = rdcp(['tail', 'FAIL_POOL', '--on-error', '--lines', '4'], {
      interrupted: over.signal,
      heard: (text) => (shown += text),
    });
    await until('a failure is shown', () => {
      job(false);
      job(true);
      return (shown.match(/second/g)?.length ?? 0) >= 2;
    });
    over.abort();
    await tailing;
    const failure =
      /invoice failed after \d+ ms, TypeError:\n\S+Z FAIL_POOL first rows=1.*\n\S+Z FAIL_POOL second.*\n/g;
    assert.equal(shown.match(failure)?.length, 2, shown);
  });
});
