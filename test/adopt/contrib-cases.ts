import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { run } from '../safety/program.ts';
import { assertBuilt } from '../support/built.ts';

/** @param order when OpenTelemetry's instrumentation of the library starts: `before` or `after` it is adopted */
export async function besideContrib(t: TestContext, library: 'pino' | 'winston', order: 'before' | 'after') {
  assertBuilt();
  const program = run(t, join(import.meta.dirname, 'programs/contrib.ts'), { args: [library, order] });
  const [told] = await Promise.race([
    once(program.child, 'message'),
    program.ended.then(() => assert.fail(program.output.stderr)),
  ]);
  const info = { lines: ['i'], records: ['info i'] };
  assert.deepEqual(told.off, info);
  assert.deepEqual(told.on, { lines: ['d', 'i'], records: ['debug d', 'info i'] });
  assert.deepEqual(told.offAgain, info);
  assert.deepEqual(told.closed, info);
  assert.equal(told.calls, 1);
}
