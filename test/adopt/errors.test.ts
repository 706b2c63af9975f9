// In a process of its own: it patches libraries.

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { it, type TestContext } from 'node:test';
import { NEST } from '../../src/adopt/nest/nest.ts';
import { gateLogs } from '../../src/adopt/otel/logs.ts';
import { PINO } from '../../src/adopt/pino/pino.ts';
import type { Source } from '../../src/adopt/types.ts';
import { WINSTON } from '../../src/adopt/winston/winston.ts';
import { WorkOutcomes } from '../../src/calls/work/outcomes.ts';
import { gate } from '../../src/gate/gate.ts';
import type { WorkContext } from '../../src/gate/work.ts';
import { adoptionBench, loadCopy } from './bench.ts';

const sink = new Writable({ write: (_chunk, _encoding, done) => done() });

/** Returns a function that runs `log` as a piece of work, and returns why that has failed. */
function working(t: TestContext, work: WorkContext) {
  const failures: unknown[] = [];
  const outcomes = new WorkOutcomes(work, { follow: () => () => {} });
  t.after(
    outcomes.watch({ ended: ({ failure }) => void failures.push(failure && ((failure.error as Error)?.name ?? null)) }),
  );
  return (log: () => void) => {
    work.runNamed('job', log);
    return failures.pop();
  };
}

function adopting<T>(t: TestContext, source: Source, name: string) {
  const { gate, load } = adoptionBench(t, [source]);
  const { exports, version } = loadCopy<T>(name);
  load(name, version, exports);
  return { exports, failureOf: working(t, gate.work) };
}

it('a line of ERROR or FATAL that pino writes fails the work, any other does not', (t) => {
  const { exports: pino, failureOf } = adopting<typeof import('pino').default>(t, PINO, 'pino');
  const logger = pino({ level: 'info' }, sink);
  const child = logger.child({ name: 'database' });
  assert.equal(
    failureOf(() => child.warn(new TypeError())),
    undefined,
  );
  assert.equal(
    failureOf(() => child.error(new TypeError())),
    'TypeError',
  );
  assert.equal(
    failureOf(() => logger.error({ err: new RangeError() }, 'no')),
    'RangeError',
  );
  assert.equal(
    failureOf(() => logger.fatal('text')),
    null,
  );
  assert.equal(
    failureOf(() => pino({ level: 'silent' }, sink).error('text')),
    undefined,
  );
});

it('a line of error that winston writes fails the work, any other does not', (t) => {
  const { exports: winston, failureOf } = adopting<typeof import('winston')>(t, WINSTON, 'winston');
  const logger = winston.createLogger({ transports: [new winston.transports.Stream({ stream: sink })] });
  assert.equal(
    failureOf(() => logger.warn('text')),
    undefined,
  );
  assert.equal(
    failureOf(() => logger.error('text', { error: new TypeError() })),
    'TypeError',
  );
  assert.equal(
    failureOf(() => logger.child({ module: 'database' }).error('text')),
    null,
  );
});

it("a line of error or fatal of Nest's logger fails the work, any other does not", (t) => {
  const { exports: nest, failureOf } = adopting<typeof import('@nestjs/common')>(t, NEST, '@nestjs/common');
  nest.Logger.overrideLogger({ log() {}, warn() {}, error() {}, fatal() {} });
  const logger = new nest.Logger('Orders');
  assert.equal(
    failureOf(() => logger.warn('text')),
    undefined,
  );
  assert.equal(
    failureOf(() => logger.error(new TypeError(), 'stack')),
    'TypeError',
  );
  assert.equal(
    failureOf(() => nest.Logger.fatal('text')),
    null,
  );
});

it('a log record of ERROR or above that passes gateLogs fails the work, any other does not', (t) => {
  const failureOf = working(t, gate.work);
  const flush = () => Promise.resolve();
  const processor = gateLogs({ onEmit() {}, forceFlush: flush, shutdown: flush });
  const emit = (severityNumber: number) => failureOf(() => processor.onEmit({ severityNumber, body: 'text' }));
  assert.deepEqual([13, 17, 21].map(emit), [undefined, null, null]);
});
