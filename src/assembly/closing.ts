import { diagnostics } from '../otel/diagnostics.ts';
import { isRdcpError } from '../wire/errors.ts';
import { isError, messageOf } from '../wire/thrown.ts';
import { withDeadline } from '../wire/time/deadline.ts';

/** Longest time for one part to close, in milliseconds; requests in flight get 10 s of it. */
const CLOSE_DEADLINE_MS = 15_000;

export interface Closable {
  close(): void | Promise<void>;
}

/** Closes one part after the other, even if an earlier one fails or hangs. */
export async function closeInOrder(parts: readonly (Closable | undefined)[]): Promise<void> {
  for (const part of parts) {
    await withDeadline((async () => part?.close())().catch(diagnose), CLOSE_DEADLINE_MS);
  }
}

/**
 * Writes to OpenTelemetry's diagnostics: code and message of our own errors, the stack of any other. Both may name a file,
 * which helps the service's owner. An error that would quote a credential is never used as a cause.
 */
export function diagnose(error: unknown): void {
  if (!isRdcpError(error)) diagnostics.error('rdcp: internal error', error);
  else
    diagnostics.error(
      `rdcp: ${error.code}: ${error.message}`,
      ...(isError(error.cause) ? [messageOf(error.cause)] : []),
    );
}
