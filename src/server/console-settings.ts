import type { ResolvedConfig } from '../config.ts';
import { isLoopback } from '../hosts.ts';
import type { ConsoleSettings } from '../protocol/messages.ts';

/** What the console is told; `undefined` where it is not served. By default it is served on loopback alone. */
export function consoleSettings({
  console,
  server,
}: Pick<ResolvedConfig, 'console' | 'server'>): ConsoleSettings | undefined {
  const served = console ?? (server !== false && isLoopback(server.host));
  if (served === false) return undefined;
  return served === true || served.traceUrl === undefined ? {} : { traceUrl: served.traceUrl };
}
