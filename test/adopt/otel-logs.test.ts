// In a process of its own: it enables a global context manager.

import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { context, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BatchLogRecordProcessor,
  InMemoryLogRecordExporter,
  LoggerProvider,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs';
import { gateLogs, loggerConfigurator } from '../../src/adopt/otel/logs.ts';
import { processAdoption } from '../../src/adopt/process.ts';
import { debugLane } from '../../src/calls/emit/debug-lane.ts';
import { gate } from '../../src/gate/gate.ts';
import { LEVEL } from '../../src/gate/levels.ts';
import type { Attachment, Described } from '../../src/gate/types.ts';
import type { AdoptOptions } from '../../src/options/adopt.ts';
import { INSTRUMENTATION_NAME } from '../../src/wire/version.ts';
import { RecordingController } from '../gate/controllers.ts';

const [DEBUG, INFO, WARN, ERROR] = [5, 9, 13, 17];

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const adoption = processAdoption(gate);
/** What the taps got. */
const described: Described[] = [];
let attachment: Attachment;
let leave: () => void;

function join(options: AdoptOptions = {}): void {
  leave = adoption.join({ options, warn: assert.fail });
}

/** Switches the category of that name, which must exist. */
function set(name: string, on: boolean, tenant?: string, level?: keyof typeof LEVEL): void {
  const index = gate.categories().findIndex((category) => category.name === name);
  assert.ok(index >= 0, `${name} is not registered`);
  const rank = level && LEVEL[level];
  if (tenant === undefined) attachment.setBase(index, on, true, rank);
  else attachment.setTenant(tenant, index, on, rank);
}

const callsOf = (name: string) => gate.callsTotal(gate.categories().findIndex((category) => category.name === name));

beforeEach(() => {
  described.length = 0;
  attachment = gate.attach(
    new RecordingController(4096, {
      pass: (_category, { describe, given = [] }) => {
        described.push(describe(given)!);
        return undefined;
      },
    }),
  );
  join();
});
afterEach(() => {
  leave();
  attachment.detach();
});
after(() => context.disable());

type Configurator = ReturnType<typeof loggerConfigurator>;

function sdk({ processors = 1, configurator }: { processors?: number; configurator?: Configurator } = {}) {
  const exporters = Array.from({ length: processors }, () => new InMemoryLogRecordExporter());
  const provider = new LoggerProvider({
    processors: exporters.map((exporter) => gateLogs(new SimpleLogRecordProcessor({ exporter }))),
    ...(configurator && { loggerConfigurator: configurator }),
  });
  const exported = () =>
    exporters.map((each) => each.getFinishedLogRecords().map(({ severityNumber }) => severityNumber));
  return { provider, exporters, exported };
}

describe('a gate of log records', () => {
  it('masks secrets in records that are there because their category is on, for every processor', () => {
    const { provider, exporters } = sdk({ processors: 2 });
    const logger = provider.getLogger('masked');
    const attributes = { password: 'hunter2', order: 7, request: { headers: { cookie: 'hunter2', host: 'shop' } } };
    logger.emit({ severityNumber: DEBUG, body: 'first' });
    set('OTEL_MASKED', true);
    logger.emit({ severityNumber: DEBUG, body: 'redis://app:hunter2@cache', attributes });
    logger.emit({ severityNumber: DEBUG, body: { token: 'hunter2', a: 1 } });
    logger.emit({ severityNumber: INFO, body: 'own', attributes });
    for (const exporter of exporters) {
      const shown = exporter.getFinishedLogRecords().map((record) => [record.body, record.attributes]);
      assert.deepEqual(shown, [
        [
          'redis://[redacted]@cache',
          { password: '[redacted]', order: 7, request: { headers: { cookie: '[redacted]', host: 'shop' } } },
        ],
        [{ token: '[redacted]', a: 1 }, {}],
        ['own', attributes],
      ]);
    }
    assert.equal(attributes.password, 'hunter2', 'objects of the application stay as they are');
  });

  it('counts a record below INFO as one call, through however many processors it goes', () => {
    const { provider, exported } = sdk({ processors: 2 });
    const logger = provider.getLogger('counted');
    logger.emit({ severityNumber: DEBUG, body: 'off' });
    set('OTEL_COUNTED', true);
    for (const severityNumber of [DEBUG, INFO, DEBUG]) logger.emit({ severityNumber, body: 'on' });
    assert.equal(callsOf('OTEL_COUNTED'), 2);
    assert.deepEqual(exported(), [
      [DEBUG, INFO, DEBUG],
      [DEBUG, INFO, DEBUG],
    ]);
  });

  it('describes a record to the taps, with its scope', () => {
    const { provider } = sdk();
    const logger = provider.getLogger('described');
    logger.enabled({ severityNumber: DEBUG });
    set('OTEL_DESCRIBED', true);
    logger.emit({ severityNumber: DEBUG, body: 'cache miss', attributes: { key: 'k1' } });
    logger.emit({ severityNumber: DEBUG, body: { key: 'k2' } });
    assert.deepEqual(described, [
      { message: 'cache miss', attributes: { key: 'k1', 'otel.scope.name': 'described' } },
      { message: '', attributes: { body: { key: 'k2' }, 'otel.scope.name': 'described' } },
    ]);
  });

  it('lets the records of this package pass, and those without a severity', () => {
    const { provider, exported } = sdk();
    provider.getLogger(INSTRUMENTATION_NAME).emit({ severityNumber: DEBUG });
    provider.getLogger('other').emit({});
    assert.deepEqual(exported(), [[DEBUG, undefined]]);
  });

  it('leaves the records of loggers that are adopted themselves to their own categories', () => {
    const { provider, exported } = sdk();
    const bridge = provider.getLogger('@opentelemetry/instrumentation-pino');
    bridge.emit({ severityNumber: DEBUG });
    assert.deepEqual(exported(), [[]]);
    leave();
    join({ pino: true });
    bridge.emit({ severityNumber: DEBUG });
    assert.deepEqual(exported(), [[DEBUG]]);
  });

  it('lets everything pass where there is no remote control', () => {
    const { provider, exported } = sdk({ configurator: loggerConfigurator() });
    leave();
    const logger = provider.getLogger('alone');
    logger.emit({ severityNumber: DEBUG });
    assert.equal(logger.enabled({ severityNumber: DEBUG }), true);
    assert.deepEqual(exported(), [[DEBUG]]);
  });

  it('stands before a debug lane, and is flushed and shut down with it', async () => {
    const exporter = new InMemoryLogRecordExporter();
    const provider = new LoggerProvider({
      processors: [gateLogs(debugLane(new BatchLogRecordProcessor({ exporter })))],
    });
    const logger = provider.getLogger('lane');
    logger.emit({ severityNumber: DEBUG });
    logger.emit({ severityNumber: ERROR });
    await provider.forceFlush();
    assert.deepEqual(
      exporter.getFinishedLogRecords().map(({ severityNumber }) => severityNumber),
      [ERROR],
    );
    await provider.shutdown();
    assert.equal(logger.enabled({ severityNumber: ERROR }), false);
  });

  it('refuses what is no processor, such as an exporter', () => {
    for (const bad of [undefined, {}, new InMemoryLogRecordExporter()]) {
      assert.throws(() => gateLogs(bad as never), /^TypeError: gateLogs: processor must be a log record processor/);
    }
  });
});

describe('a logger configurator', () => {
  it('lets everything through while the category is on, info records below a higher severity of another one included', () => {
    const { provider, exporters, exported } = sdk({
      configurator: loggerConfigurator(() => ({ minimumSeverity: WARN })),
    });
    const logger = provider.getLogger('quiet');
    const emitted = () => {
      exporters[0]?.reset();
      for (const severityNumber of [DEBUG, INFO, WARN]) logger.emit({ severityNumber });
      return exported()[0];
    };
    assert.deepEqual(emitted(), [WARN]);
    set('OTEL_QUIET', true);
    assert.deepEqual(emitted(), [DEBUG, INFO, WARN]);
    set('OTEL_QUIET', true, undefined, 'info');
    assert.deepEqual(emitted(), [INFO, WARN]);
    set('OTEL_QUIET', true, undefined, 'error');
    assert.deepEqual(emitted(), []);
    set('OTEL_QUIET', false);
    assert.deepEqual(emitted(), [WARN]);
  });

  it('lets records of traces that are not sampled through while the category is on, and those of this package', () => {
    const { provider, exporters, exported } = sdk({
      configurator: loggerConfigurator(() => ({ traceBased: true, minimumSeverity: INFO })),
    });
    const emitted = (traceFlags = TraceFlags.NONE, scope = 'traced') => {
      exporters[0]?.reset();
      const span = { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags };
      for (const severityNumber of [DEBUG, INFO])
        provider.getLogger(scope).emit({ severityNumber, context: trace.setSpanContext(ROOT_CONTEXT, span) });
      return exported()[0];
    };
    assert.deepEqual([emitted(), emitted(TraceFlags.SAMPLED)], [[], [INFO]]);
    set('OTEL_TRACED', true, 'acme');
    assert.deepEqual(emitted(), [], 'on for another tenant');
    assert.deepEqual(gate.runWithTenant('acme', emitted), [DEBUG, INFO]);
    set('OTEL_TRACED', true);
    assert.deepEqual(emitted(), [DEBUG, INFO]);
    set('OTEL_TRACED', false);
    assert.deepEqual([emitted(), emitted(TraceFlags.NONE, INSTRUMENTATION_NAME)], [[], [DEBUG, INFO]]);
  });

  it('keeps what another one says of a scope, in the words of either line', () => {
    const live = { disabled: false, minimumSeverity: INFO, traceBased: true };
    const configured = loggerConfigurator(() => live)({ name: 'both' });
    assert.deepEqual({ ...configured }, { enabled: true, disabled: false, minimumSeverity: INFO, traceBased: true });
    live.disabled = true;
    assert.deepEqual([configured.enabled, configured.disabled], [false, true]);
    assert.equal(loggerConfigurator(() => ({ enabled: false }))({ name: 'both' }).disabled, true);
  });
});
