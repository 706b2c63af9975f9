// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runWork } from '../../src/api.ts';
import type { DebugRecord } from '../../src/index.ts';
import { until } from '../support/until.ts';
import { realService } from './service.ts';

describe('a category that is on for some work or some lines', () => {
  const lines: DebugRecord[] = [];
  const { service, rdcp } = realService({ emit: { to: (line: DebugRecord) => void lines.push(line) } });
  service.category('PART_POOL');
  service.category('PART_CACHE');

  it('enable says what is on and how to end it; list, status and watch show it; end ends it', async () => {
    const over = new AbortController();
    let shown = '';
    const watching = rdcp(['watch', 'PART_*'], { interrupted: over.signal, heard: (text) => (shown += text) });
    await rdcp(['enable', 'PART_CACHE']);
    await until('a line of the other category', () => /PART_CACHE on for/.test(shown));

    const { stdout, code } = await rdcp([
      'enable',
      'PART_POOL',
      '-m',
      'user.id=42',
      '--where',
      'rows > 1',
      '--for',
      '10m',
    ]);
    assert.equal(code, 0);
    const [, id] =
      /^PART_POOL on for user\.id=42, where rows > 1, for 10m, until (?:\d{4}-\d\d-\d\d )?[\d:]+\S+ \(rdcp end --id ([0-9a-f]{12})\)$/m.exec(
        stdout,
      ) ?? [];
    assert.ok(id, stdout);
    const shownAs = /^PART_POOL +on +user\.id=42, where rows > 1, (?:10m|9m \d+s)/m;
    assert.match((await rdcp(['list'])).stdout, shownAs);
    assert.match((await rdcp(['status'])).stdout, shownAs);
    await until('a line of the activation', () =>
      /PART_POOL on for user\.id=42, where rows > 1, .* by ops/.test(shown),
    );

    const { stdout: trail } = await rdcp(['audit', '--limit', '1']);
    assert.match(trail, / enable for user\.id=\(hidden\), where rows > 1 +PART_POOL +success/);

    await rdcp(['enable', 'PART_POOL', '--text', 'query*', '--sample', '1/100']);
    assert.match((await rdcp(['list'])).stdout, /^PART_POOL +on +2 activations /m);
    assert.match(
      (await rdcp(['end', '--id', id])).stdout,
      /^Ended PART_POOL for work with user\.id, filtered by where$/m,
    );
    assert.match((await rdcp(['end', '--id', id])).stdout, /^Ended nothing: no such activation$/m);
    // The trail must not show a reset, as of everything.
    assert.match((await rdcp(['audit', '--limit', '1'])).stdout, / end +- +success /);
    assert.match((await rdcp(['list'])).stdout, /^PART_POOL +on +text query\*, 1 %, 1[45]m /m);
    assert.match((await rdcp(['end', 'PART_POOL'])).stdout, /1 activation ended/);
    assert.match((await rdcp(['list'])).stdout, /^PART_POOL +off +- /m);
    await until('its end', () => /PART_POOL off/.test(shown));
    over.abort();
    await watching;
  });

  it('record keeps lines and writes none, and its state is told apart; disable and end end it', async () => {
    const category = service.category('PART_POOL');
    const written = lines.length;
    const record = (...args: string[]) => rdcp(['record', ...args]);
    const listed = async (...args: string[]) => (await rdcp(['list', ...args])).stdout;

    const { stdout } = await record('part_pool', '--reason', 'complaints');
    assert.match(stdout, /^PART_POOL recorded for 1d, until .* \(rdcp end --id [0-9a-f]{12}\)$/m);
    runWork('job', () => category.debug('kept'));
    assert.equal(lines.length, written);
    assert.match(await listed(), /^PART_POOL +recorded +2[34]h \d+m +- +-$/m);
    assert.match((await rdcp(['status'])).stdout, /^PART_POOL +recorded +2[34]h /m);
    const { stderr } = await rdcp(['list', '-o', 'wide']);
    assert.match(stderr, /recorder: reaches back \d+[sm] \(1 piece of work, \d+ bytes\)/);
    assert.doesNotMatch(await listed('--on'), /PART_POOL/);
    assert.match((await rdcp(['audit', '--limit', '1'])).stdout, / record +PART_POOL +success +complaints$/m);
    assert.match((await rdcp(['explain', 'PART_POOL'])).stdout, /only recorded: its lines are kept in memory/);

    assert.match(
      (await record('PART_POOL', '-m', 'user.id=42', '--for', '7d', '--level', 'info')).stdout,
      /^PART_POOL recorded for user\.id=42, from info up, for 7d, /m,
    );
    assert.match(await listed(), /^PART_POOL +recorded +2 activations /m);
    assert.match((await rdcp(['end', 'PART_POOL'])).stdout, /2 activations ended/);
    assert.match(
      (await record('PART_*', '--permanent', '--yes')).stdout,
      /^PART_CACHE, PART_POOL recorded without an end /m,
    );
    assert.match(await listed(), /^PART_POOL +recorded +permanent /m);
    assert.match((await rdcp(['disable', 'PART_*', '--yes'])).stdout, /1 activation ended/);
    assert.match(await listed(), /^PART_POOL +off /m);
    await rdcp(['reset', 'PART_*', '--yes']);

    assert.match((await record('PART_POOL', '--dry-run')).stdout, /^PART_POOL would be recorded for 1d, /m);
    const { code, stderr: refusal } = await record('PART_POOL', '--for', '8d');
    assert.equal(code, 1);
    assert.match(refusal, /at most 7d/);
  });

  it('a list with -o wide counts the lines that a filter could not be evaluated for', async () => {
    await rdcp(['enable', 'PART_POOL', '--where', 'rows > 1']);
    const category = service.category('PART_POOL');
    await until('a line of the filter', () => {
      category.debug('query', { rows: 2 });
      return lines.some(({ message }) => message === 'query');
    });
    await until('a line without rows is counted', async () => {
      category.debug('other', { table: 'orders' });
      return /NOT EVALUATED/.test((await rdcp(['list', '-o', 'wide'])).stdout);
    });
    assert.ok(!lines.some(({ message }) => message === 'other'));
    await rdcp(['end', 'PART_POOL']);
    assert.doesNotMatch((await rdcp(['list', '-o', 'wide'])).stdout, /NOT EVALUATED/);
  });

  it('enable takes processes, and says so where they do not run', async () => {
    const one = await rdcp(['enable', 'PART_POOL', '--one', '--for', '10m']);
    assert.equal(one.code, 0, one.stderr);
    assert.match(one.stdout, /^PART_POOL on for one process, for 10m, /m);
    assert.match((await rdcp(['list'])).stdout, /^PART_POOL +on +one process, (?:10m|9m \d+s)/m);
    assert.match((await rdcp(['status'])).stdout, /^PART_POOL +on +one process, /m);
    lines.length = 0;
    service.category('PART_POOL').debug('here');
    assert.equal(lines.length, 1);
    await rdcp(['end', 'PART_POOL']);

    const elsewhere = await rdcp(['enable', 'PART_POOL', '--instance', 'vm:1', '--version', '1.4.2']);
    assert.equal(elsewhere.code, 3);
    assert.match(elsewhere.stdout, /^PART_POOL on for vm:1, version 1\.4\.2, /m);
    assert.match(elsewhere.stderr, /none of the processes that it is for is running/);
    service.category('PART_POOL').debug('not here');
    assert.equal(lines.length, 1);
    await rdcp(['end', 'PART_POOL']);
  });

  it('what the service refuses names the option', async () => {
    for (const [given, said] of [
      [['--where', 'rows >'], '--where is not a valid expression at character 7: Unexpected token: EOF'],
      [['--for', '99d'], '--for must be at most 1d'],
      [['-m', 'a b=1'], '--match must be the name of an attribute: up to 128 letters, digits and _ . : / @ $ -'],
      [['--version', 'v'.repeat(129)], '--version must hold at most 128 characters'],
      [['--slower-than', '61m'], '--slower-than must be at most 60m'],
      [['--reason', 'r'.repeat(501)], '--reason must hold at most 500 characters'],
    ] as const) {
      const { code, stderr } = await rdcp(['enable', 'PART_POOL', ...given]);
      assert.deepEqual([code, stderr], [1, `rdcp: RDCP_MALFORMED_REQUEST: ${said}\n`]);
    }
    const { stderr } = await rdcp(['audit', '--client', 'a b']);
    assert.equal(stderr, 'rdcp: RDCP_MALFORMED_REQUEST: --client must be 1 to 255 of a-z A-Z 0-9 . _ -\n');
  });
});
