import { metrics, trace } from '@opentelemetry/api';
import { registeredLoggerProvider } from '../telemetry.ts';

/** Longest time that a process without signal handlers of its own is held up by its telemetry, milliseconds. */
const DEADLINE_MS = 5000;

interface Started {
  readonly sdk: { shutdown(): Promise<void> };
  readonly instrumentation: { close(): Promise<void> };
}

/**
 * Writes the audit trail and the telemetry out when the process ends: by itself, by SIGTERM or by SIGINT. The
 * application's own handlers stay in charge: where it has one, nothing here ends the process, and its telemetry goes on
 * until it does. Where it has none, the signal is raised again, so that the process ends as it would have without us.
 */
export function flushAtTheEnd({ sdk, instrumentation }: Started): void {
  const end = () => Promise.allSettled([instrumentation.close(), sdk.shutdown()]);
  process.once('beforeExit', end);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // `once` takes this listener away before it runs. So others that count listeners, to raise the signal again when
    // theirs are the only ones, count right; and a second signal ends a process that hangs.
    process.once(signal, () => {
      if (process.listenerCount(signal) > 0) void Promise.allSettled([instrumentation.close(), ...flushProviders()]);
      else void Promise.race([end(), deadline()]).then(() => process.kill(process.pid, signal));
    });
  }
}

function deadline(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, DEADLINE_MS));
}

/** `NodeSDK` can only be shut down, not flushed, so its providers are asked. */
function flushProviders(): Promise<unknown>[] {
  const tracers = trace.getTracerProvider() as { getDelegate?(): unknown };
  const providers: (Flushable | undefined)[] = [
    // The registered one is a stand-in for the SDK's.
    tracers.getDelegate?.() as Flushable | undefined,
    metrics.getMeterProvider() as Flushable,
    registeredLoggerProvider() as Flushable | undefined,
  ];
  return providers.map(async (provider) => provider?.forceFlush?.());
}

interface Flushable {
  forceFlush?(): Promise<void>;
}
