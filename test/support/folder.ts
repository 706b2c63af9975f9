import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { ROOT } from './built.ts';

/** A store in a new file. */
export const newStore = (t: { after(task: () => void): void }) => `sqlite:${join(newFolder(t), 'state.sqlite')}`;

/** @returns a new folder, which is removed after the test; without one, after the suite or file that asks for it */
export function newFolder(t: { after(task: () => void): void } = { after }): string {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** A new folder inside of the package, in which programs find it by its name; removed after the suite or file that asks for it. */
export function folderOfPackage(): string {
  mkdirSync(join(ROOT, '.rdcp'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.rdcp', 'test-'));
  after(() => rmSync(folder, { recursive: true }));
  return folder;
}
