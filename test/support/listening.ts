import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
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

/** Lets a server of a test's own listen until the test is over. @returns its port */
export async function portOf(
  t: TestContext,
  server: Server & { closeAllConnections?(): void },
  host = '127.0.0.1',
): Promise<number> {
  await once(server.listen(0, host), 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections?.();
  });
  return (server.address() as AddressInfo).port;
}
