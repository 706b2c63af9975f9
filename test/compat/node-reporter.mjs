import { relative } from 'node:path';

/** A line of JSON for each test that passed or failed, as Mocha's reporter `json` has them. */
export default async function* compatReporter(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.skip !== undefined || data.todo !== undefined) continue;
    const file = relative(process.cwd(), data.file ?? data.name);
    // A file that ends with a wrong code is a failed test by the name of its path.
    const name = data.name.endsWith(file) ? 'the whole file' : `${data.line} ${data.name}`;
    const error = type === 'test:fail' ? String(data.details.error?.cause?.message ?? data.details.error) : undefined;
    yield `${JSON.stringify({ file, name, error })}\n`;
  }
}
