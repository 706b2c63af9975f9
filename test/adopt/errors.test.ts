// In a process of its own: it patches libraries.

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { it, type TestContext } from 'node:test';
import { gateLogs } from '../../src/adopt/otel/logs.ts';
import { WorkOutcomes } from '../../src/calls/work/outcomes.ts';
import { gate } from '../../src/gate/gate.ts';
import type { WorkContext } from '../../src/gate/work.ts';
import { adopted, type Libraries } from './loggers.ts';

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

/** Why work has failed in which one line was written: the name of the error, `null` for none; `undefined` for work that has not. */
type Row = readonly [log: () => void, failure: string | null | undefined];

const LIBRARIES: { readonly [Name in keyof Libraries]?: (exports: Libraries[Name]) => readonly Row[] } = {
  pino: (pino) => {
    const logger = pino({ level: 'info' }, sink);
    const child = logger.child({ name: 'database' });
    return [
      [() => child.warn(new TypeError()), undefined],
      [() => child.error(new TypeError()), 'TypeError'],
      [() => logger.error({ err: new RangeError() }, 'no'), 'RangeError'],
      [() => logger.fatal('text'), null],
      [() => pino({ level: 'silent' }, sink).error('text'), undefined],
    ];
  },
  winston: (winston) => {
    const logger = winston.createLogger({ transports: [new winston.transports.Stream({ stream: sink })] });
    return [
      [() => logger.warn('text'), undefined],
      [() => logger.error('text', { error: new TypeError() }), 'TypeError'],
      [() => logger.child({ module: 'database' }).error('text'), null],
    ];
  },
  '@nestjs/common': ({ Logger }) => {
    Logger.overrideLogger({ log() {}, warn() {}, error() {}, fatal() {} });
    const logger = new Logger('Orders');
    return [
      [() => logger.warn('text'), undefined],
      [() => logger.error(new TypeError(), 'stack'), 'TypeError'],
      [() => Logger.fatal('text'), null],
    ];
  },
};

for (const [name, rowsOf] of Object.entries(LIBRARIES) as [keyof Libraries, (exports: never) => readonly Row[]][]) {
  it(`a line of error or fatal that ${name} writes fails the work, any other does not`, (t) => {
    const { gate, exports } = adopted(t, name);
    const failureOf = working(t, gate.work);
    const rows = rowsOf(exports as never);
    assert.deepEqual(
      rows.map(([log]) => failureOf(log)),
      rows.map(([, failure]) => failure),
    );
  });
}

it('a log record of ERROR or above that passes gateLogs fails the work, any other does not', (t) => {
  const failureOf = working(t, gate.work);
  const flush = () => Promise.resolve();
  const processor = gateLogs({ onEmit() {}, forceFlush: flush, shutdown: flush });
  const emit = (severityNumber: number) => failureOf(() => processor.onEmit({ severityNumber, body: 'text' }));
  assert.deepEqual([13, 17, 21].map(emit), [undefined, null, null]);
});
