import type { IncomingMessage, RequestListener } from 'node:http';
import { after, before, type TestContext } from 'node:test';
import { createRdcp, type RdcpConfig } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { serve } from '../support/serve.ts';
import { type RunOptions, rdcp as run, saying } from './run.ts';

/** Returns the base URL of a made-up service. */
export async function madeUp(t: TestContext, listener: RequestListener): Promise<string> {
  return (await serve(t, listener)).url;
}

interface Seen {
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A service that always gives the same answer and notes what it was asked. */
export async function service(t: TestContext, answer: object, status = 200): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const url = await madeUp(t, async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    seen.push({ target: `${request.method} ${request.url}`, headers: request.headers, body });
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ protocol: 'rdcp/1.0', timestamp: '2026-01-01T00:00:00.000Z', ...answer }));
  });
  return { url, seen };
}

/** An event of a stream. */
export const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** A real service for the tests of a block, and the command with its address and the first of the keys. */
export function realService(config: RdcpConfig, keys = [makeKey({ id: 'admin', scopes: ['admin'] })]) {
  const apiKeys = keys.map(({ record }) => record);
  const service = createRdcp({ server: { port: 0 }, security: { apiKeys }, announce: false, ...config });
  const place = { url: '' };
  before(async () => {
    place.url = (await service.listen()).url;
  });
  after(() => service.close());
  const rdcp = (args: readonly string[], options: RunOptions = {}) =>
    run([...args, '--url', place.url], { ...options, env: { RDCP_API_KEY: keys[0]?.key ?? '', ...options.env } });
  return { service, place, rdcp, says: saying(rdcp) };
}
