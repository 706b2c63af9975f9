import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerConfig } from '../options/config.ts';
import { asOwnRequest, loadOwn } from '../otel/own-work.ts';
import { RdcpError, toRdcpError } from '../wire/errors.ts';
import type { RequestHandler } from './app.ts';
import type { Listener, ListenerOptions } from './connections/listener.ts';
import type { EndpointParts } from './parts.ts';
import { createMetadataPath, isOurs } from './paths.ts';

/** Where requests come in: they wait here until the routes are there. */
export class Entrance {
  #app: DeferredApp | undefined;
  #held: Promise<void> | undefined;
  readonly #closing = new AbortController();

  /** @param app replaces the routes until then */
  serve(app: DeferredApp): void {
    this.#app = app;
  }

  /** Lets requests wait while the routes are about to be replaced. */
  hold(until: Promise<void>): void {
    this.#held = until.finally(() => {
      this.#held = undefined;
    });
  }

  /** From now on requests are refused, because the server is shutting down. */
  close(): void {
    this.#closing.abort();
  }

  readonly closing: AbortSignal = this.#closing.signal;

  readonly handler: RequestHandler = (req, res, next) => {
    const answer = () => asOwnRequest(req, () => this.#app?.handler(req, res));
    if (next !== undefined && !this.isOurs(req)) next();
    else if (this.#held === undefined) answer();
    else void this.#held.then(answer);
  };

  /** Whether a request is for the endpoint, in an application that mounts it. Other requests must not wait. */
  readonly isOurs = (req: IncomingMessage): boolean => this.#app?.isOurs(req) === true;

  async load(): Promise<void> {
    await this.#app?.load();
  }
}

export type DeferredApp = ReturnType<typeof deferApp>;

/** The routes, loaded lazily: loading Koa takes a while, and the application's start must not wait for it. */
export function deferApp(parts: EndpointParts) {
  const { randomUUID, fault } = parts;
  const issuerUrl = parts.tokens?.issuerUrl;
  const metadataPath = issuerUrl && createMetadataPath(issuerUrl);
  let app: RequestHandler | undefined;

  async function load(): Promise<RequestHandler> {
    return loadOwn(async () => {
      const { createApp } = await import('./app.ts').catch((error: unknown) => {
        throw refusedByNode(error) ?? error;
      });
      app ??= createApp(parts);
      return app;
    });
  }

  /** Nothing that fails here reaches the application's server. */
  const handle = async (req: IncomingMessage, res: ServerResponse) => {
    try {
      const handler = app ?? (await load());
      handler(req, res);
    } catch (error) {
      fault(error, 'a request');
      const { answerResponse } = await import('./error-answer.ts');
      answerResponse(res, { error: toRdcpError(error), requestId: randomUUID() });
    }
  };

  return {
    /** Usable at once: a request waits until the routes are loaded, which starts with the first request at the latest. */
    handler: (req: IncomingMessage, res: ServerResponse): void => void handle(req, res),
    isOurs: (req: IncomingMessage): boolean => isOurs(req, metadataPath),
    load: async (): Promise<void> => void (await load()),
  };
}

/** The error for an option of Node.js under which Koa cannot be loaded, if that is why it failed. */
function refusedByNode(cause: unknown): RdcpError | undefined {
  const flag =
    cause instanceof EvalError
      ? '--disallow-code-generation-from-strings'
      : Object.isFrozen(Object.prototype) && '--frozen-intrinsics';
  if (flag === false) return undefined;
  const message = `the endpoint cannot run under Node.js's ${flag}; see docs/messages.md#options-of-nodejs`;
  return new RdcpError('RDCP_CONFIG_INVALID', message, { cause });
}

/**
 * The listener, loaded when it is to listen.
 * @param load loads what the first request needs beside the listener
 */
export function deferListener(
  config: ServerConfig,
  handler: RequestHandler,
  { load, ...options }: ListenerOptions & { readonly load: () => Promise<void> },
): Listener {
  let listener: Promise<Listener> | undefined;

  async function make(): Promise<Listener> {
    const [{ createListener }] = await Promise.all([import('./connections/listener.ts'), load()]);
    return createListener(config, handler, options);
  }

  return {
    listen: async () => {
      listener ??= make().catch((error: unknown) => {
        listener = undefined;
        throw error;
      });
      return (await listener).listen();
    },
    close: async () => (await listener)?.close(),
  };
}
