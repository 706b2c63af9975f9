import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';

/** Skips aloud where a program is not installed; fails there in CI, where nothing may be skipped unseen. */
export async function withProgram(t: TestContext, program: string, run: () => Promise<void>): Promise<void> {
  if (spawnSync(program, ['--version']).error === undefined) return run();
  const skipped = `${program} is not installed (a Debian package has it): not tested: ${t.name}`;
  assert.notEqual(process.env.CI, 'true', skipped);
  console.error(skipped);
  t.skip(skipped);
}
