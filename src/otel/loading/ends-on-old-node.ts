import { unsupportedNode } from './node-version.ts';

// First import of the entries that are programs.
const problem = unsupportedNode();
if (problem !== undefined) {
  process.stderr.write(`rdcp: ${problem}\n`);
  process.exit(1);
}
