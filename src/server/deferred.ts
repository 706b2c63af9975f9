import type { IncomingMessage } from 'node:http';
import type { ServerConfig } from '../config.ts';
import { toRdcpError } from '../errors.ts';
import { asOwnWork, loadOwn } from '../own-work.ts';
import type { AppDependencies, RequestHandler } from './app.ts';
import type { Listener, ListenerOptions } from './listener.ts';
import { createMetadataPath } from './metadata-path.ts';
import { isOurs } from './request-target.ts';

/** Where requests come in: they wait here until the routes are there. */
export class Entrance {
  #app: DeferredApp | undefined;
  #held: Promise<void> | undefined;
  #closing = false;

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
    this.#closing = true;
  }

  readonly closing = (): boolean => this.#closing;

  readonly handler: RequestHandler = (req, res, next) => {
    if (next !== undefined && !this.isOurs(req)) next();
    else if (this.#held === undefined) asOwnWork(() => this.#app?.handler(req, res, next));
    else void this.#held.then(() => asOwnWork(() => this.#app?.handler(req, res, next)));
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
  readonly handler: RequestHandler;
  isOurs(req: IncomingMessage): boolean;
  load(): Promise<void>;
}

export function deferApp(dependencies: AppDependencies): DeferredApp {
  const { randomUUID, report } = dependencies;
  const { issuerUrl } = dependencies.tokens ?? {};
  const metadataPath = issuerUrl && createMetadataPath(issuerUrl);
  let app: RequestHandler | undefined;

  async function load(): Promise<RequestHandler> {
    return loadOwn(async () => {
      const { createApp } = await import('./app.ts');
      app ??= createApp(dependencies);
      return app;
    });
  }

  const whenLoaded: RequestHandler = (req, res, next) => {
    load().then(
      (handler) => handler(req, res, next),
      async (error: unknown) => {
        report(error);
        const { answerResponse } = await import('./raw-answer.ts');
        answerResponse(res, { error: toRdcpError(error), requestId: randomUUID() });
      },
    );
  };

  return {
    handler: (req, res, next) => (app ?? whenLoaded)(req, res, next),
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
    const [{ createListener }] = await Promise.all([import('./listener.ts'), load()]);
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
