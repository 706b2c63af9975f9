// An application around which everything is broken: what OpenTelemetry calls, what it passes to debug calls, its own
// health checks. It keeps a list of what was thrown at it, and tells when it is asked.
import { DiagLogLevel, diag, logs, metrics, trace } from '@opentelemetry/api';
import { LoggerProvider } from '@opentelemetry/sdk-logs';
import { type RdcpConfig, RdcpInstrumentation } from 'opentelemetry-instrumentation-rdcp';
import { CATEGORIES } from '../support/categories.ts';

const [faults, configText] = process.argv.slice(2) as [string, string];
const broken = new Set(faults.split(','));
const unexpected: string[] = [];
const note = (where: string, error: unknown) => void unexpected.push(`${where}: ${String(error)}`);
process.on('uncaughtException', (error) => note('uncaught', error));
process.on('unhandledRejection', (error) => note('unhandled', error));

function fail(): never {
  throw new Error('broken');
}
/** Whatever is asked of it, it throws. */
const thrower: object = new Proxy(() => undefined, {
  get: fail,
  apply: fail,
  has: fail,
  ownKeys: fail,
  construct: fail,
});
/** It has every method, and every one throws. */
const failing = <T>() => new Proxy({}, { get: () => fail }) as T;

if (broken.has('logs')) {
  const processor = { onEmit: fail, enabled: () => true, forceFlush: async () => fail(), shutdown: async () => fail() };
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [processor] }));
}
if (broken.has('logger')) logs.setGlobalLoggerProvider({ getLogger: () => failing() });
if (broken.has('traces')) {
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: failing, startActiveSpan: fail }) as never });
}
if (broken.has('meters')) metrics.setGlobalMeterProvider({ getMeter: () => failing() });
if (broken.has('instruments')) {
  metrics.setGlobalMeterProvider({ getMeter: () => new Proxy({}, { get: () => () => failing() }) as never });
}
if (broken.has('stderr')) process.stderr.write = fail;

const config = JSON.parse(configText) as RdcpConfig;
const instrumentation = new RdcpInstrumentation({
  ...config,
  health: {
    throws: fail,
    rejects: () => Promise.reject(new Error('broken')),
    'rejects.nothing': () => Promise.reject(undefined),
    'throws.later': () => new Promise((_, reject) => setTimeout(reject, 10, thrower)),
    'returns.what.throws': () => thrower,
    fine: () => 0,
  },
});
const categories = CATEGORIES.map((name) => instrumentation.rdcp.category(name));
const { url } = await instrumentation.listen();
// OpenTelemetry's own base class does not bear these while it is made.
if (broken.has('diag')) diag.setLogger(failing(), { suppressOverrideMessage: true, logLevel: DiagLogLevel.WARN });
if (broken.has('providers')) {
  logs.setGlobalLoggerProvider(failing());
  trace.setGlobalTracerProvider(failing());
  metrics.setGlobalMeterProvider(failing());
}

const circular: Record<string, unknown> = {};
circular.self = circular;
// test/hostile-values.test.ts has them all, where nothing else is broken.
const attributes: readonly unknown[] = [Symbol('s'), 10n, circular, thrower, fail, () => thrower, async () => fail()];
const messages: readonly unknown[] = ['at work', Symbol('m'), thrower, { toString: fail }, 'x'.repeat(1_000_000)];

function guarded(where: string, work: () => unknown): void {
  try {
    work();
  } catch (error) {
    note(where, error);
  }
}

function callEverything(): void {
  for (const category of categories) {
    for (const [index, value] of attributes.entries())
      guarded(`attributes ${index}`, () => category.debug('at work', value as never));
    for (const [index, message] of messages.entries())
      guarded(`message ${index}`, () => category.debug(message as string));
    guarded('enabled', () => category.enabled);
    guarded('span', () => {
      // What the application itself does with a span that throws is its own.
      const value = category.span('a span', () => 'its value');
      if (value !== 'its value') note('span', 'another value');
    });
    const own = new Error('its own');
    try {
      category.span('a span', () => {
        throw own;
      });
      note('span', 'swallowed an error');
    } catch (error) {
      if (error !== own) note('span', error);
    }
    guarded('tenant', () => instrumentation.rdcp.runWithTenant(undefined as never, () => category.debug('of nobody')));
  }
}

setInterval(callEverything, 20);
process.on('message', (message) => {
  if (message === 'end')
    instrumentation
      .close()
      .then(
        () => process.disconnect(),
        (error) => note('close', error),
      )
      .finally(() => process.exit(unexpected.length > 0 ? 1 : 0));
  else process.send?.(unexpected);
});
process.stdout.write(`ready ${url}\n`);
