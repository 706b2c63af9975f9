import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { isTracingSuppressed } from './suppress-tracing.ts';

// What this package does by itself runs in an async context of its own: its listener and the requests to it, its store, its
// questions to token issuers, its timers. The categories of diagnostics channels leave out what is published there.

/** Shared by all copies of this package in a process. */
const KEY = Symbol.for('opentelemetry-instrumentation-rdcp.own-work');

interface OwnWork {
  readonly storage: AsyncLocalStorage<true>;
  /** False until something looks at the channels: an async context costs a little everywhere. */
  marked: boolean;
  /** Recognize requests to an endpoint that is mounted in a server of the application. */
  readonly mounted: Set<(request: IncomingMessage) => boolean>;
}

function ownWork(): OwnWork {
  const registry = globalThis as { [KEY]?: OwnWork };
  registry[KEY] ??= { storage: new AsyncLocalStorage(), marked: false, mounted: new Set() };
  return registry[KEY];
}

/** From now on own work is told from the application's. What was started before is not. */
export function markOwnWork(): void {
  ownWork().marked = true;
}

/** Runs `fn`, with the timers, connections and promises that it starts, as our own work. */
export function asOwnWork<T>(fn: () => T): T {
  const { marked, storage } = ownWork();
  return marked ? storage.run(true, fn) : fn();
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
