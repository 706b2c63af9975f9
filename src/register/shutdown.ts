import { withDeadline } from '../deadline.ts';
import { registeredProviders } from '../telemetry.ts';

/** Longest time that a process without signal handlers of its own is held up by its telemetry, milliseconds. */
const DEADLINE_MS = 5000;
/** The part of it that closing may take; the rest is for exporting what closing has written. */
const CLOSE_DEADLINE_MS = 3000;

interface Started {
  /** Absent where the SDK is the application's. */
  readonly sdk?: { shutdown(): Promise<void> } | undefined;
  readonly instrumentation: { close(): Promise<void> };
}

/**
 * Flushes the audit trail and the telemetry when the process ends: by itself, by SIGTERM or by SIGINT. The
 * application's own handlers stay in charge: where it has one, nothing here ends the process, and its telemetry goes on
 * until it does. Where it has none, the signal is raised again, so that the process ends as it would have without us.
 */
export function flushAtTheEnd({ sdk, instrumentation }: Started): void {
  const close = async () => {
    // Closing takes our instruments away, so their last values are collected before.
    const collected = flush(registeredProviders().metrics);
    await instrumentation.close();
    await collected;
  };
  // The SDK stops last, because closing emits audit records.
  const stop = () => (sdk === undefined ? flushProviders() : sdk.shutdown());
  const closeInTime = () => withDeadline(close(), CLOSE_DEADLINE_MS);
  process.once(
    'beforeExit',
    () =>
      void close()
        .then(stop, stop)
        .catch(() => undefined),
  );
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // `once` takes this listener away before it runs. So others that count listeners, to raise the signal again when
    // theirs are the only ones, count right; and a second signal ends a process that hangs.
    process.once(signal, () => {
      if (process.listenerCount(signal) > 0) void closeInTime().then(flushProviders);
      else void withDeadline(closeInTime().then(stop), DEADLINE_MS).then(() => process.kill(process.pid, signal));
    });
  }
}

/** `NodeSDK` can only be shut down, not flushed, so its providers are asked. */
async function flushProviders(): Promise<void> {
  await Promise.all(Object.values(registeredProviders()).map(flush));
}

async function flush(provider: unknown): Promise<void> {
  await (provider as { forceFlush?(): Promise<void> } | undefined)?.forceFlush?.().catch(() => undefined);
}
