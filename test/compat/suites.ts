import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** How a library runs its own tests. */
export interface Suite {
  readonly runner: 'node' | 'mocha';
  /** Its test files: patterns in its folder. */
  readonly files: readonly string[];
  /** Options that its own command gives the runner. */
  readonly options: readonly string[];
}

export const SUITES: Readonly<Record<string, Suite>> = {
  pino: { runner: 'node', files: ['test/**/*.test.{js,mjs}'], options: ['--test-timeout=60000'] },
  debug: { runner: 'mocha', files: ['test.js', 'test.node.js'], options: [] },
  winston: {
    runner: 'mocha',
    files: ['test/**/*.test.js'],
    // Otherwise the first failure in a callback ends the run.
    options: ['--no-allow-uncaught'],
  },
  koa: { runner: 'node', files: ['__tests__/**/*.test.js'], options: [] },
  fastify: { runner: 'node', files: ['test/**/*.test.{js,mjs}'], options: ['--test-timeout=60000'] },
  express: {
    runner: 'mocha',
    files: ['test/{,acceptance/}*.js'],
    options: ['--require', 'test/support/env', '--check-leaks'],
  },
  undici: {
    runner: 'node',
    files: [
      'test/{,busboy/,cache/,cache-interceptor/,cookie/,eventsource/,fetch/,infra/,interceptors/}*.js',
      'test/{subresource-integrity,webidl}/*.js',
      'test/{node-fetch,node-test,websocket}/**/*.js',
    ],
    // A test that fails leaves its server open, and its file would never end.
    options: ['--test-timeout=180000', '--test-force-exit', '--expose-gc'],
  },
};

/** The test files of a library. */
export const filesOf = ({ files }: Suite, folder: string): string[] => globSync([...files], { cwd: folder }).sort();

/** Arguments of Node.js that run test files, after which `results` has a line for each test. */
export function argumentsOf({ runner, options }: Suite, files: readonly string[], results: string): string[] {
  if (runner === 'mocha') {
    return [
      'node_modules/.bin/mocha',
      '--reporter',
      join(import.meta.dirname, 'mocha-reporter.cjs'),
      ...options,
      ...files,
    ];
  }
  const reporter = pathToFileURL(join(import.meta.dirname, 'node-reporter.mjs'));
  const reported = [`--test-reporter=${reporter}`, `--test-reporter-destination=${results}`];
  return ['--test', '--test-concurrency=2', ...options, ...reported, ...files];
}
