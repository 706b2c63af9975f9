import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { type Context, context, createContextKey, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';

// The work of this package runs in an async context of its own: its listener and the requests to it, its store, its
// questions to token issuers, its timers. The categories of diagnostics channels leave out what is published there.

/** Shared by all copies of this package in a process. */
const KEY = Symbol.for('opentelemetry-instrumentation-rdcp.own-work');

interface OwnWork {
  readonly storage: AsyncLocalStorage<true>;
  /** False until something looks at the channels: an async context costs a little everywhere. */
  marked: boolean;
  /** How many endpoints are loading their libraries. */
  loading?: number;
  /** Recognize requests to an endpoint that is mounted in a server of the application. */
  readonly mounted: Set<(request: IncomingMessage) => boolean>;
}

function ownWork(): OwnWork {
  const registry = globalThis as { [KEY]?: OwnWork };
  registry[KEY] ??= { storage: new AsyncLocalStorage(), marked: false, mounted: new Set() };
  return registry[KEY];
}

/** From now on own work is distinguished from the application's. Work that was started before is not. */
export function markOwnWork(): void {
  ownWork().marked = true;
}

/** Runs `fn`, with the timers, connections and promises that it starts, as our own work. */
export function asOwnWork<T>(fn: () => T): T {
  const { marked, storage } = ownWork();
  return marked ? storage.run(true, fn) : fn();
}

/** Starts no spans. The caller's trace is read here where no instrumentation has, so that audit records carry it. */
export function asOwnRequest<T>({ headers }: IncomingMessage, fn: () => T): T {
  const active = context.active();
  const traced = trace.getSpan(active) === undefined ? propagation.extract(active, headers) : active;
  return asOwnWork(() => context.with(traced, () => withoutTracing(fn)));
}

export async function loadOwn<T>(load: () => Promise<T>): Promise<T> {
  const work = ownWork();
  work.loading = (work.loading ?? 0) + 1;
  try {
    return await load();
  } finally {
    work.loading -= 1;
  }
}

export function isOwnLoading(): boolean {
  return (ownWork().loading ?? 0) > 0;
}

/** Whether this runs as our own work, or inside an exporter of OpenTelemetry. */
export function isOwnWork(): boolean {
  return ownWork().storage.getStore() === true || isTracingSuppressed();
}

/** Recognizes requests to a mounted endpoint. Returns a function that ends it. */
export function mountedAt(isOurs: (request: IncomingMessage) => boolean): () => void {
  const { mounted } = ownWork();
  mounted.add(isOurs);
  return () => mounted.delete(isOurs);
}

export function isOwnRequest(request: IncomingMessage): boolean {
  return [...ownWork().mounted].some((isOurs) => isOurs(request));
}

/**
 * The context key by which OpenTelemetry's own exporters suppress tracing. `suppressTracing` is in
 * `@opentelemetry/core`, which we do not depend on; `createContextKey` is `Symbol.for` in 1.x and 2.x, so the same
 * description gives the same key.
 */
const SUPPRESS_TRACING = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

const SUPPRESSED_ROOT = suppressed(ROOT_CONTEXT);

function suppressed(active: Context): Context {
  return active.setValue(SUPPRESS_TRACING, true);
}

/** The active span stays active, so audit records carry its trace. The span of `instrumentation-http` is the user's. */
export function withoutTracing<T>(fn: () => T): T {
  const active = context.active();
  return context.with(active === ROOT_CONTEXT ? SUPPRESSED_ROOT : suppressed(active), fn);
}

export function isTracingSuppressed(): boolean {
  return context.active().getValue(SUPPRESS_TRACING) === true;
}
