// Measures, so nothing runs beside it: start-up and size.
// Limits of the package's size and of its start, printed. The benchmarks aim lower: these are the limits beyond
// which a change has gone wrong, on a busy machine too.

import assert from 'node:assert/strict';
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Report } from '../../benchmarks/measurement.ts';
import { assertBuilt, ROOT } from '../support/built.ts';

const MOST_FILES = 250;
const MOST_BYTES = 4_500_000;
const MOST_PACKED_BYTES = 1_200_000;

/** Ratios, megabytes and counts, by their names in the benchmarks `import` and `start-up`. */
const MOST: Readonly<Record<string, number>> = {
  'importing the api': 0.1,
  'importing the root': 0.6,
  'modules of others that the api loads': 0,
  'modules of the SDK that the root loads': 0,
  'register: the first statement': 1.7,
  'register: the endpoint answers': 2.8,
  // Measured between 14 and 18 MB, the latter beside other work.
  'register: resident memory': 22,
  'rdcp --version': 3,
};

describe('the package stays within its budget', () => {
  assertBuilt();

  it(`of ${MOST_FILES} files and ${MOST_BYTES} bytes, ${MOST_PACKED_BYTES} packed`, async (t) => {
    const pack = ['pack', '--dry-run', '--ignore-scripts', '--json'];
    const { stdout } = await promisify(execFile)('npm', pack, { cwd: ROOT });
    const [packed]: { entryCount: number; unpackedSize: number; size: number }[] = JSON.parse(stdout);
    assert.ok(packed);
    const { entryCount, unpackedSize, size } = packed;
    t.diagnostic(`${entryCount} files, ${unpackedSize} bytes unpacked, ${size} bytes packed`);
    assert.ok(entryCount <= MOST_FILES, `${entryCount} files`);
    assert.ok(unpackedSize <= MOST_BYTES, `${unpackedSize} bytes`);
    assert.ok(size <= MOST_PACKED_BYTES, `${size} bytes packed`);
  });

  for (const benchmark of ['import', 'start-up']) {
    it(`of ${benchmark}`, async (t) => {
      const child = fork(join(ROOT, 'benchmarks', `${benchmark}.ts`));
      const ended = once(child, 'exit').then(([code]) => assert.fail(`ended with ${code}, without a report`));
      const [{ verdicts }] = (await Promise.race([once(child, 'message'), ended])) as [Report];
      for (const { what, measured, value } of verdicts) {
        const most = MOST[what] ?? Number.NaN;
        t.diagnostic(`${what}: ${measured}, at most ${most}`);
        assert.ok(value <= most, `${what}: ${measured}, at most ${most}`);
      }
    });
  }
});
