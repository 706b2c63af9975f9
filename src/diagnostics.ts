import { diag } from '@opentelemetry/api';

/** OpenTelemetry's diagnostics. A logger of the application's that throws there is not heard of anywhere else. */
export const diagnostics = {
  error: (message: string, ...details: unknown[]): void => guarded(() => diag.error(message, ...details)),
  warn: (message: string): void => guarded(() => diag.warn(message)),
};

function guarded(tell: () => void): void {
  try {
    tell();
  } catch {}
}
