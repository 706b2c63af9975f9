import { relative } from 'node:path';

/** A line of JSON for each test without subtests, as Mocha's reporter `json` has them. */
export default async function* suiteReporter(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.error?.failureType === 'subtestsFailed') continue;
    const name = `${relative(process.cwd(), data.file ?? '')}:${data.line} ${data.name}`;
    const error = type === 'test:fail' ? String(data.details.error?.cause?.message ?? data.details.error) : undefined;
    yield `${JSON.stringify({ name, error })}\n`;
  }
}
