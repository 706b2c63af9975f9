import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { RequestHandler } from '../../src/endpoint/app.ts';
import { createListener, type ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import { parseConfig } from '../../src/options/config.ts';

const hello: RequestHandler = (_req, res) => void res.end('hello');

/** A listener of its own, on a port that the system chooses, before a handler that says hello. */
export function listenerFor(server: object, handler: RequestHandler = hello, options: ListenerOptions = {}) {
  const config = parseConfig({ server: { port: 0, ...server } }).server;
  assert.ok(config !== false);
  return createListener(config, handler, options);
}

/** Resolves with the url; the listener closes after the test. */
export async function listen(
  t: TestContext,
  server: object = {},
  handler?: RequestHandler,
  options?: ListenerOptions,
): Promise<string> {
  const listener = listenerFor(server, handler, options);
  t.after(() => listener.close());
  return (await listener.listen()).url;
}
