import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { AdoptedCategory } from '../category.ts';
import type { Adoption, Source } from '../types.ts';
import { CHILD_PROCESS } from './child-process.ts';
import { IOREDIS, MYSQL2, REDIS } from './databases.ts';
import type { Family, LibraryFamily } from './family.ts';
import { EXPRESS, FASTIFY } from './frameworks.ts';
import { HTTP_CLIENT, HTTP_SERVER, HTTP2, UNDICI } from './http.ts';
import { Listeners } from './listeners.ts';
import { NET } from './net.ts';
import { Operations } from './operations.ts';

/** Families of Node.js itself. */
const OF_NODE: readonly Family[] = [HTTP_SERVER, HTTP_CLIENT, UNDICI, NET, CHILD_PROCESS];

/** Families of libraries. */
const OF_LIBRARIES: readonly LibraryFamily[] = [EXPRESS, FASTIFY, MYSQL2, REDIS, IOREDIS];

/**
 * Diagnostics channels of Node.js and of libraries. They have subscribers only while their category is wanted: without
 * subscribers they publish nothing.
 */
export const CHANNELS: Source = {
  kind: 'channel',
  option: 'channels',
  modules: OF_LIBRARIES.map(({ module }) => module),
  start(adoption) {
    const stops = [...OF_NODE, ...(hasHttp2Channels(process.versions.node) ? [HTTP2] : [])].map((family) =>
      adopt(family, adoption),
    );
    return () => {
      for (const stop of stops) stop();
    };
  },
  adopt(_exports, { name, version }, adoption) {
    const family = OF_LIBRARIES.find(({ module }) => module.name === name);
    return family && adopt(family, adoption, version);
  },
};

/** Copies of a library publish on the same channels, so one of them is followed. */
const followed = new WeakSet<AdoptedCategory>();

function adopt(family: Family, adoption: Adoption, version?: string): () => void {
  const { category: name, description } = family;
  const category = adoption.category(name, { description, version });
  if (category === undefined || followed.has(category)) return () => {};
  followed.add(category);
  const stop = category.whileWanted(() => follow(family, category, adoption));
  return () => {
    stop();
    followed.delete(category);
  };
}

/** Subscribes to the channels of a family. Returns a function that unsubscribes. */
function follow(family: Family, category: AdoptedCategory, { attempt }: Adoption): () => void {
  const guarded =
    <Given extends unknown[]>(fn: (...given: Given) => void) =>
    (...given: Given): void =>
      attempt(() => fn(...given), category);
  const listeners = new Listeners(guarded);
  const operations = new Operations(category, family);
  const subscriptions = Object.entries(family.follow({ category, operations, listeners, guarded })).map(
    ([channel, handler]) => [channel, guarded((message: unknown) => handler(message as never))] as const,
  );
  for (const [channel, listener] of subscriptions) subscribe(channel, listener);
  return () => {
    for (const [channel, listener] of subscriptions) unsubscribe(channel, listener);
    listeners.removeAll();
  };
}

/** They came with Node.js 22.18 and 24.2. */
export function hasHttp2Channels(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 2) || (major === 22 && minor >= 18);
}
