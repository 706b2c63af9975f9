import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder that is removed after the test, with what is in it. */
export function temporaryFolder(t: Pick<TestContext, 'after'>): string {
  const path = mkdtempSync(join(tmpdir(), 'rdcp-test-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
