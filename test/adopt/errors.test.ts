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

type Pino = typeof import('pino').default;
type Winston = typeof import('winston');
type Nest = typeof import('@nestjs/common');

/** Why work has failed in which one line was written: the name of the error, `null` for none; `undefined` for work that has not. */
type Row = readonly [log: () => void, failure: string | null | undefined];

const LIBRARIES: Readonly<Record<string, readonly [source: Source, rows: (exports: never) => readonly Row[]]>> = {
  pino: [
    PINO,
    (pino: Pino) => {
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
  ],
  winston: [
    WINSTON,
    (winston: Winston) => {
      const logger = winston.createLogger({ transports: [new winston.transports.Stream({ stream: sink })] });
      return [
        [() => logger.warn('text'), undefined],
        [() => logger.error('text', { error: new TypeError() }), 'TypeError'],
        [() => logger.child({ module: 'database' }).error('text'), null],
      ];
    },
  ],
  '@nestjs/common': [
    NEST,
    ({ Logger }: Nest) => {
      Logger.overrideLogger({ log() {}, warn() {}, error() {}, fatal() {} });
      const logger = new Logger('Orders');
      return [
        [() => logger.warn('text'), undefined],
        [() => logger.error(new TypeError(), 'stack'), 'TypeError'],
        [() => Logger.fatal('text'), null],
      ];
    },
  ],
};

for (const [name, [source, rowsOf]] of Object.entries(LIBRARIES)) {
  it(`a line of error or fatal that ${name} writes fails the work, any other does not`, (t) => {
    const { gate, load } = adoptionBench(t, [source]);
    const { exports, version } = loadCopy(name);
    load(name, version, exports);
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
