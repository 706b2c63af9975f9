import type { ResolvedConfig } from '../config.ts';
import { isLoopback } from '../hosts.ts';
import type { ConsoleSettings } from '../protocol/messages.ts';

/** What the console is told; `undefined` where it is not served. By default it is served on loopback alone. */
export function consoleSettings({
  console,
  server,
  controls,
}: Pick<ResolvedConfig, 'console' | 'server' | 'controls'>): ConsoleSettings | undefined {
  const served = console ?? (server !== false && isLoopback(server.host));
  if (served === false) return undefined;
  const { traceUrl } = served === true ? {} : served;
  return { maxDurationSeconds: controls.maxDuration, ...(traceUrl !== undefined && { traceUrl }) };
}
