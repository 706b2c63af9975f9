// Measures, so nothing runs beside it: what kept lines take in memory.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';

const MIB = 1024 * 1024;

/** Bytes that a process takes for what it keeps. */
function taken(what: string): number {
  const program = join(import.meta.dirname, 'keeping-program.ts');
  return Number(execFileSync(process.execPath, ['--expose-gc', program, what], { encoding: 'utf8', timeout: 120_000 }));
}

it('slices of long texts keep these for a second at most', () => {
  // 1,000 slices of 1 MiB each.
  for (const what of ['recorder', 'recorder, nested', 'names and messages']) {
    const bytes = taken(what);
    assert.ok(bytes < 40 * MIB, `${what}: ${bytes / MIB} MiB`);
  }
});

it('600,000 short lines take no more memory than the limit of the recorder says', () => {
  const bytes = taken('short lines');
  assert.ok(bytes < 20 * MIB, `${bytes / MIB} MiB`);
});
