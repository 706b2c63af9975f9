import { unsupportedNode } from './node-version.ts';

// The first import of an entry that is a library.
const problem = unsupportedNode();
if (problem !== undefined) {
  const error = new Error(problem);
  // Where it was thrown helps nobody.
  error.stack = problem;
  throw error;
}
