import { unsupportedNode } from './node-version.ts';

// The first import of an entry that is a program.
const problem = unsupportedNode();
if (problem !== undefined) {
  process.stderr.write(`rdcp: ${problem}\n`);
  process.exit(1);
}
