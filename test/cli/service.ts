import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
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
  /** Method and path. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A service that notes what it is asked, the answered request included. */
export async function noting(t: TestContext, handler: (response: ServerResponse, seen: readonly Seen[]) => void) {
  const seen: Seen[] = [];
  const url = await madeUp(t, async (request, response) => {
    const body = await text(request);
    seen.push({ target: `${request.method} ${request.url}`, headers: request.headers, body });
    handler(response, seen);
  });
  return { url, seen };
}

/** Answers with a message of the protocol. */
export function json(response: ServerResponse, answer: object, status = 200, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify({ protocol: 'rdcp/1.0', timestamp: '2026-01-01T00:00:00.000Z', ...answer }));
}

/** A service that always gives the same answer and notes what it was asked. */
export const service = (t: TestContext, answer: object, status = 200) =>
  noting(t, (response) => json(response, answer, status));

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
