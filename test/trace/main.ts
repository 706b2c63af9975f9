// Prints the way of a control request through src, from its socket to the flip: `npm run trace`, or with a duration such as
// `npm run trace -- 1m` for a temporary control.

import { filesOf, hopsOf, traceControlRequest, visitsOf } from './control-request.ts';

const [duration] = process.argv.slice(2);
const { whole, control } = await traceControlRequest(duration === undefined ? undefined : { duration });
const before = whole.slice(0, whole.length - control.length);
const lines: string[] = [];
for (const [title, steps] of Object.entries({
  'from the socket to plane.control': before,
  'from there to the flip': control,
})) {
  lines.push(`${title}: ${filesOf(steps).length} files, ${hopsOf(steps)} hops`);
  for (const { file, names } of visitsOf(steps)) lines.push(`  ${file.padEnd(36)} ${names.join(' ')}`);
}
lines.push(`in all: ${filesOf(whole).length} files, ${hopsOf(whole)} hops`);
process.stdout.write(`${lines.join('\n')}\n`);
