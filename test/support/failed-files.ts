import type { TestEvent } from 'node:test/reporters';

const TEST_FILE = /\.(?:test|full)\.ts$/;

/** A reporter that writes the file to run again for each test that failed, a line each. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.todo !== undefined) continue;
    // A test that a shared function declares is in that function's file, which alone runs nothing and so passes.
    const { file, entryFile = file }: { file?: string; entryFile?: string } = data;
    const again = file !== undefined && TEST_FILE.test(file) ? file : entryFile;
    if (again === undefined || seen.has(again)) continue;
    seen.add(again);
    yield `${again}\n`;
  }
}
