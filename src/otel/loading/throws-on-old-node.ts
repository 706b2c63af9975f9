import { unsupportedNode } from './node-version.ts';

// First import of the entries that are libraries.
const problem = unsupportedNode();
if (problem !== undefined) {
  const error = new Error(problem);
  // The stack would only distract from the message.
  error.stack = problem;
  throw error;
}
