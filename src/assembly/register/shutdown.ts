import { registeredProviders } from '../../otel/telemetry.ts';
import { withDeadline } from '../../wire/time/deadline.ts';

/** Longest delay of a signal's default action by closing and flushing, in milliseconds. */
const SIGNAL_DEADLINE_MS = 5000;
/** Longest time for which a process that has nothing left to do is kept alive, in milliseconds. */
const END_DEADLINE_MS = 2000;
/** Share of a deadline for closing; the rest is for exporting what closing emits. */
const CLOSE_SHARE = 0.6;

interface RunningService {
  /** Absent if the application started the SDK. */
  readonly sdk: { shutdown(): Promise<void> } | undefined;
  /** Closes the remote control. */
  close(): Promise<void>;
}

/**
 * Flushes the audit trail and the telemetry when the process exits, or gets SIGTERM or SIGINT. If the application handles the
 * signal, it decides when to exit, and telemetry works until then. Otherwise the signal is raised again after the flush, so
 * that the process ends as it would without this package.
 */
export function flushAtTheEnd({ sdk, close }: RunningService): void {
  const collectAndClose = async () => {
    // Closing removes our instruments, so collect their last values first.
    const collected = flush(registeredProviders().metrics);
    await close();
    await collected;
  };
  // The SDK stops last: closing emits audit records.
  const stop = () => (sdk === undefined ? flushProviders() : sdk.shutdown());
  const closeWithin = (milliseconds: number) => withDeadline(collectAndClose(), CLOSE_SHARE * milliseconds);
  /** Resolves with whether everything is done. */
  const endWithin = async (milliseconds: number) => {
    let closed = false;
    const end = async () => {
      closed = await closeWithin(milliseconds);
      await stop();
    };
    return (await withDeadline(end(), milliseconds)) && closed;
  };
  process.once('beforeExit', async () => {
    const listeners = process.listenerCount('beforeExit');
    const done = await endWithin(END_DEADLINE_MS);
    // An unfinished export would keep the process alive, and so may work that a listener of the application has started.
    if (!done && listeners === 0) process.exit();
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // `once` removes this listener before it runs. Other libraries that count listeners, to raise the signal again when
    // theirs is the only one, then count correctly, and a second signal ends a process that hangs.
    process.once(signal, () => {
      if (process.listenerCount(signal) > 0) void closeWithin(SIGNAL_DEADLINE_MS).then(flushProviders);
      else void endWithin(SIGNAL_DEADLINE_MS).then(() => process.kill(process.pid, signal));
    });
  }
}

/** Flushes the providers, because `NodeSDK` has no flush. */
async function flushProviders(): Promise<void> {
  await Promise.all(Object.values(registeredProviders()).map(flush));
}

async function flush(provider: unknown): Promise<void> {
  await (provider as { forceFlush?(): Promise<void> } | undefined)?.forceFlush?.().catch(() => undefined);
}
