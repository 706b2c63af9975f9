import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../safety/program.ts';
import { assertBuilt } from '../support/built.ts';

for (const library of ['pino', 'winston'] as const) {
  for (const order of ['before', 'after'] as const) {
    test(`${library}, adopted ${order} OpenTelemetry's instrumentation of it starts`, async (t) => {
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
    });
  }
}
