// A service with one key that may do everything, for the other programs.

import { createHash } from 'node:crypto';
import { createRdcp, type DebugRecord, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';

export const KEY = 'a-secret-of-thirty-two-characters';
const hash = `sha256:${createHash('sha256').update(KEY).digest('hex')}`;
const SCOPES = ['discovery', 'status', 'control', 'tail', 'alerts', 'admin'] as const;
export const API_KEYS = [{ id: 'k', hash, clientId: 'ops', scopes: [...SCOPES] }];

/** Starts a service; its debug lines are kept in `lines`. */
export async function service(config: RdcpConfig = {}) {
  const lines: DebugRecord[] = [];
  const rdcp = createRdcp({
    server: { port: 0 },
    emit: { to: (line: DebugRecord) => void lines.push(line) },
    announce: false,
    ...config,
    security: { apiKeys: API_KEYS, ...config.security },
  });
  const { url } = await rdcp.listen();
  return { rdcp, url, lines, client: createRdcpClient({ baseUrl: url, apiKey: KEY }), ...asking(url) };
}

export function asking(url: string) {
  const headers = { 'X-RDCP-API-Key': KEY, 'Content-Type': 'application/json' };
  return {
    get: (path: string, more: Record<string, string> = {}) => fetch(url + path, { headers: { ...headers, ...more } }),
    post: (path: string, body: object) => fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }),
  };
}

/** Waits until something holds. */
export async function until<T>(holds: () => T | Promise<T>): Promise<T> {
  for (const end = Date.now() + 20_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const value = await holds();
    if (value) return value;
  }
  throw new Error(`not within 20 s: ${holds}`);
}
