// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runWork } from '../../src/api.ts';
import type { DebugRecord } from '../../src/index.ts';
import { until } from '../support/until.ts';
import { realService } from './service.ts';

describe('a category that is on for some work or some lines', () => {
  const lines: DebugRecord[] = [];
  const { service, rdcp, says } = realService({ emit: { to: (line: DebugRecord) => void lines.push(line) } });
  service.category('PART_POOL');
  service.category('PART_CACHE');

  it('enable says what is on and how to end it; list, status and watch show it; end ends it', async () => {
    const over = new AbortController();
    let shown = '';
    const watching = rdcp(['watch', 'PART_*'], { interrupted: over.signal, heard: (text) => (shown += text) });
    await rdcp(['enable', 'PART_CACHE']);
    await until('a line of the other category', () => /PART_CACHE on for/.test(shown));

    const on =
      /^PART_POOL on for user\.id=42, where rows > 1, for 10m, until (?:\d{4}-\d\d-\d\d )?[\d:]+\S+ \(rdcp end --id ([0-9a-f]{12})\)$/m;
    const { stdout } = await says("enable PART_POOL -m user.id=42 --where 'rows > 1' --for 10m", on);
    const shownAs = /^PART_POOL +on +user\.id=42, where rows > 1, (?:10m|9m \d+s)/m;
    await says('list', shownAs);
    await says('status', shownAs);
    await until('a line of the activation', () =>
      /PART_POOL on for user\.id=42, where rows > 1, .* by ops/.test(shown),
    );
    await says('audit --limit 1', / enable for user\.id=\(hidden\), where rows > 1 +PART_POOL +success/);

    await says('enable PART_POOL --text query* --sample 1/100');
    await says('list', /^PART_POOL +on +2 activations /m);
    const end = `end --id ${on.exec(stdout)?.[1]}`;
    await says(end, /^Ended PART_POOL for work with user\.id, filtered by where$/m);
    await says(end, /^Ended nothing: no such activation$/m);
    // The trail must not show a reset, as of everything.
    await says('audit --limit 1', / end +- +success /);
    await says('list', /^PART_POOL +on +text query\*, 1 %, 1[45]m /m);
    await says('end PART_POOL', /1 activation ended/);
    await says('list', /^PART_POOL +off +- /m);
    await until('its end', () => /PART_POOL off/.test(shown));
    over.abort();
    await watching;
  });

  it('record keeps lines and writes none, and its state is told apart; disable and end end it', async () => {
    const category = service.category('PART_POOL');
    const written = lines.length;
    await says(
      'record part_pool --reason complaints',
      /^PART_POOL recorded for 1d, until .* \(rdcp end --id [0-9a-f]{12}\)$/m,
    );
    runWork('job', () => category.debug('kept'));
    assert.equal(lines.length, written);
    await says('list', /^PART_POOL +recorded +2[34]h \d+m +- +-$/m);
    await says('status', /^PART_POOL +recorded +2[34]h /m);
    await says('list -o wide', undefined, { err: /recorder: reaches back \d+[sm] \(1 piece of work, \d+ bytes\)/ });
    await says('list --on', /^(?!.*PART_POOL)/s);
    await says('audit --limit 1', / record +PART_POOL +success +complaints$/m);
    await says('explain PART_POOL', /only recorded: its lines are kept in memory/);

    await says(
      'record PART_POOL -m user.id=42 --for 7d --level info',
      /^PART_POOL recorded for user\.id=42, from info up, for 7d, /m,
    );
    await says('list', /^PART_POOL +recorded +2 activations /m);
    await says('end PART_POOL', /2 activations ended/);
    await says('record PART_* --permanent --yes', /^PART_CACHE, PART_POOL recorded without an end /m);
    await says('list', /^PART_POOL +recorded +permanent /m);
    await says('disable PART_* --yes', /1 activation ended/);
    await says('list', /^PART_POOL +off /m);
    await says('reset PART_* --yes');

    await says('record PART_POOL --dry-run', /^PART_POOL would be recorded for 1d, /m);
    await says('record PART_POOL --for 8d', '', { code: 1, err: /at most 7d/ });
  });

  it('a list with -o wide counts the lines that a filter could not be evaluated for', async () => {
    await says("enable PART_POOL --where 'rows > 1'");
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
    await says('end PART_POOL');
    await says('list -o wide', /^(?!.*NOT EVALUATED)/s);
  });

  it('enable takes processes, and says so where they do not run', async () => {
    await says('enable PART_POOL --one --for 10m', /^PART_POOL on for one process, for 10m, /m);
    await says('list', /^PART_POOL +on +one process, (?:10m|9m \d+s)/m);
    await says('status', /^PART_POOL +on +one process, /m);
    lines.length = 0;
    service.category('PART_POOL').debug('here');
    assert.equal(lines.length, 1);
    await says('end PART_POOL');

    await says('enable PART_POOL --instance vm:1 --version 1.4.2', /^PART_POOL on for vm:1, version 1\.4\.2, /m, {
      code: 3,
      err: /none of the processes that it is for is running/,
    });
    service.category('PART_POOL').debug('not here');
    assert.equal(lines.length, 1);
    await says('end PART_POOL');
  });

  for (const [given, said] of [
    ["enable PART_POOL --where 'rows >'", '--where is not a valid expression at character 7: Unexpected token: EOF'],
    ['enable PART_POOL --for 99d', '--for must be at most 1d'],
    [
      "enable PART_POOL -m 'a b=1'",
      '--match must be the name of an attribute: up to 128 letters, digits and _ . : / @ $ -',
    ],
    [`enable PART_POOL --version ${'v'.repeat(129)}`, '--version must hold at most 128 characters'],
    ['enable PART_POOL --slower-than 61m', '--slower-than must be at most 60m'],
    [`enable PART_POOL --reason ${'r'.repeat(501)}`, '--reason must hold at most 500 characters'],
    ["audit --client 'a b'", '--client must be 1 to 255 of a-z A-Z 0-9 . _ -'],
  ] as const) {
    it(`what the service refuses names the option: ${said}`, async () => {
      await says(given, '', { code: 1, err: `rdcp: RDCP_MALFORMED_REQUEST: ${said}\n` });
    });
  }
});
