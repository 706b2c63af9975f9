import type { TestEvent } from 'node:test/reporters';

/** A reporter that writes the file of each test that failed, a line each. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.file === undefined || data.todo !== undefined || seen.has(data.file)) continue;
    seen.add(data.file);
    yield `${data.file}\n`;
  }
}
