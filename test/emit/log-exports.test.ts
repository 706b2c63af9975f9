import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ExportedRecord, LogExports } from '../../src/calls/emit/log-exports.ts';

it('each result of a watched exporter is reported before the SDK gets it, until the end of the subscription', () => {
  const results = [
    { code: 0 },
    { code: 1, error: Object.assign(new Error('away'), { code: 'ECONNREFUSED' }) },
    { code: 1, error: Object.assign(new Error('refused'), { code: 400 }) },
    { code: 1 },
    { code: 0 },
  ];
  const order: unknown[] = [];
  const exports = new LogExports();
  const exporter = exports.watch({
    export: (_records: readonly ExportedRecord[], done: (result: { code: number; error?: unknown }) => void) =>
      done(results.shift()!),
  });
  const unsubscribe = exports.subscribe((failed, { length }) => order.push([failed, length]));
  const record = { hrTime: [0, 0], attributes: {} } as const;
  while (results.length > 1) exporter.export([record], ({ code }) => order.push(code));
  unsubscribe();
  exporter.export([record], ({ code }) => order.push(code));
  const failed = 'log records cannot be exported';
  assert.deepEqual(order, [
    ...[[undefined, 1], 0],
    ...[[`${failed} (ECONNREFUSED)`, 1], 1],
    ...[[`${failed} (status 400)`, 1], 1],
    ...[[failed, 1], 1],
    0,
  ]);
});
