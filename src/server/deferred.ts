import type { IncomingMessage, ServerResponse } from 'node:http';
import { toRdcpError } from '../errors.ts';
import type { ServerConfig } from '../options/config.ts';
import { asOwnRequest, loadOwn } from '../telemetry/own-work.ts';
import type { AppDependencies, RequestHandler } from './app.ts';
import type { Listener, ListenerOptions } from './connections/listener.ts';
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

  /** Aborted once the server shuts down. */
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

/** The routes, loaded lazily: loading Koa takes a while, and the application's start must not wait for it. */
export interface DeferredApp {
  /** Usable at once: a request waits until the routes are loaded, which starts with the first request at the latest. */
  handler(req: IncomingMessage, res: ServerResponse): void;
  isOurs(req: IncomingMessage): boolean;
  load(): Promise<void>;
}

export function deferApp(dependencies: AppDependencies): DeferredApp {
  const { randomUUID, report } = dependencies.host;
  const issuerUrl = dependencies.state.tokens?.issuerUrl;
  const metadataPath = issuerUrl && createMetadataPath(issuerUrl);
  let app: RequestHandler | undefined;

  async function load(): Promise<RequestHandler> {
    return loadOwn(async () => {
      const { createApp } = await import('./app.ts');
      app ??= createApp(dependencies);
      return app;
    });
  }

  const whenLoaded = (req: IncomingMessage, res: ServerResponse) => {
    load().then(
      (handler) => handler(req, res),
      async (error: unknown) => {
        report(error);
        const { answerResponse } = await import('./error-answer.ts');
        answerResponse(res, { error: toRdcpError(error), requestId: randomUUID() });
      },
    );
  };

  return {
    handler: (req, res) => (app ?? whenLoaded)(req, res),
    isOurs: (req) => isOurs(req, metadataPath),
    load: async () => void (await load()),
  };
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
