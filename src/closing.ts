import { withDeadline } from './deadline.ts';
import { diagnostics } from './diagnostics.ts';
import { isRdcpError } from './errors.ts';

/** Longest that one part may take to close, in milliseconds; requests that are still in flight get 10 s. */
const CLOSE_DEADLINE_MS = 15_000;

export interface Closable {
  close(): void | Promise<void>;
}

/** Closes one part after the other, also behind one that fails or hangs. */
export async function closeInOrder(parts: readonly (Closable | undefined)[]): Promise<void> {
  for (const part of parts) {
    await withDeadline((async () => part?.close())().catch(diagnose), CLOSE_DEADLINE_MS);
  }
}

/**
 * To OpenTelemetry's own diagnostics. Of our errors the code tells enough; of any other the stack is needed. Both may name
 * a file, which helps the service's owner. What would quote a credential is never made the cause of an error.
 */
export function diagnose(error: unknown): void {
  if (!isRdcpError(error)) diagnostics.error('rdcp: internal error', error);
  else
    diagnostics.error(
      `rdcp: ${error.code}: ${error.message}`,
      ...(error.cause instanceof Error ? [error.cause.message] : []),
    );
}
