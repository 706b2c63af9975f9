#!/usr/bin/env node
import '../ends-on-old-node.ts';
import { rdcp } from './rdcp.ts';

// A reader such as `head` closes the pipe early; that is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
const { stdout, stderr, env } = process;
void rdcp(process.argv.slice(2), { stdout, stderr, env, cwd: process.cwd() }).then((code) => {
  process.exitCode = code;
});
