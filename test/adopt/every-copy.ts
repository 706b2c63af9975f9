import assert from 'node:assert/strict';
import { test } from 'node:test';
import { built } from '../support/built.ts';
import { run } from './application.ts';

/** Every way to get at a copy of debug. Each writes one line. */
const EVERYTHING = `
  import { createRequire } from 'node:module';
  import debug from 'debug';
  import old from 'debug-2';
  const require = createRequire(import.meta.url);
  debug('imported')('line %d', 1);
  old('imported:old')('line');
  require('debug')('required')('line');
  require('debug-3')('required:old')('line');
  if (require('debug') !== debug) throw new Error('two copies');
  debug('quiet')('never');
`;
const NAMES = ['IMPORTED', 'IMPORTED_OLD', 'REQUIRED', 'REQUIRED_OLD'];
const ON = { categories: Object.fromEntries(NAMES.map((name) => [name, { enabled: true }])) };
const HOOK = './otel-hook.mjs';
const EXPECTED = [
  /^DEBUG IMPORTED line 1 \{"namespace":"imported","args":\[1\]\}$/,
  /^DEBUG IMPORTED_OLD line \{"namespace":"imported:old"\}$/,
  /^DEBUG REQUIRED line /,
  /^DEBUG REQUIRED_OLD line /,
];

/** Where the hook of OpenTelemetry stands beside ours. */
const ORDERS = {
  'under register': [built('register.js')],
  "before OpenTelemetry's own hook": [built('register.js'), HOOK],
  "after OpenTelemetry's own hook": [HOOK, built('register.js')],
};

export function adoptsEveryCopy(orders: readonly (keyof typeof ORDERS)[]): void {
  for (const order of orders) {
    test(`every copy of debug is adopted, imported or required, ${order}`, async (t) => {
      const { stderr } = await run(t, EVERYTHING, { config: ON, preload: ORDERS[order] });
      const lines = stderr.filter((line) => !line.includes('Warning') && !line.startsWith('--trace'));
      assert.equal(lines.length, EXPECTED.length, stderr.join('\n'));
      for (const [at, expected] of EXPECTED.entries()) assert.match(lines[at]!, expected);
    });
  }
}
