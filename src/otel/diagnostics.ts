import { diag } from '@opentelemetry/api';

/** OpenTelemetry's diagnostics. Errors of the application's diagnostics logger are swallowed. */
export const diagnostics = {
  error: (message: string, ...details: unknown[]): void => guarded(() => diag.error(message, ...details)),
  warn: (message: string): void => guarded(() => diag.warn(message)),
};

function guarded(log: () => void): void {
  try {
    log();
  } catch {}
}
