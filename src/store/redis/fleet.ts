import { type AnnouncedInstance, type FleetStore, LOST_MS, type Position } from '../fleet-store.ts';
import { Listeners } from '../listeners.ts';
import type { StoredValues } from '../stored-values.ts';
import { ANNOUNCE, FLEET, PUBLISH_CATEGORIES, READ_CATEGORIES, WITHDRAW } from './scripts.ts';

/** Most lists of categories in one answer of Redis. */
const LISTS_AT_ONCE = 100;

export interface RedisFleetOptions {
  readonly key: (name: string) => string;
  /** Identifies this handle in the operations that it commits. */
  readonly writer: string;
  readonly evaluate: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** The values of a message signed by Redis; `undefined` for any other message. */
  readonly open: (message: string) => readonly unknown[] | undefined;
  readonly stored: StoredValues;
  readonly position: () => Position | undefined;
  readonly moved: Listeners<[]>;
  /** Reads what changed. */
  readonly sync: () => Promise<void>;
}

/** The fleet in Redis, as seen by the store of the same handle. */
export interface RedisFleet extends FleetStore {
  /** The channel on which other processes report what they have applied. */
  readonly channel: string;
  /** Handles a message of that channel. */
  hear(message: string): void;
  /** Notes the author of a change, who waits until it is applied here. */
  changedBy(operation: string): void;
}

/**
 * Only the author of a change is notified when another process has applied it. So the cost of a change grows with the
 * number of processes, not with its square.
 */
export function createRedisFleet({
  key,
  writer,
  evaluate,
  open,
  stored,
  position,
  moved,
  sync,
}: RedisFleetOptions): RedisFleet {
  const channelOf = (name: string) => key(`applied:${name}`);
  const announced = new Listeners<[id: string, applied: Position]>('announcements');
  /** Authors of changes that were not yet notified. */
  let waiting = new Set<string>();

  return {
    channel: channelOf(writer),

    hear(message) {
      const [id, history, revision] = open(message) ?? [];
      // Ignoring a message only costs time: waiting processes also read the hash.
      if (id === undefined) return;
      const applied = stored.position(history, Number(revision));
      if (applied !== undefined) announced.call(String(id), applied);
    },

    changedBy(operation) {
      const by = operation.slice(0, operation.lastIndexOf('-'));
      if (by !== '' && by !== writer) waiting.add(by);
    },

    position,

    onMoved: (listener) => moved.add(listener),

    async announce({ id, ...instance }, applied) {
      const authors = waiting;
      waiting = new Set();
      const { history = '', revision = 0 } = applied ?? {};
      const channels = applied === undefined ? [] : [...authors].map(channelOf);
      await evaluate(
        ANNOUNCE,
        [key('fleet'), key('meta')],
        [id, history, String(revision), JSON.stringify(instance), ...channels],
      );
    },

    async withdraw(id) {
      await evaluate(WITHDRAW, [key('fleet'), key('categories')], [id]);
    },

    async look() {
      // `sync` applies every earlier change here, even when its message was lost.
      const [reply] = await Promise.all([
        evaluate(FLEET, [key('meta'), key('fleet')], [String(LOST_MS)]) as Promise<unknown[]>,
        sync(),
      ]);
      const [epoch, version, time, ...pairs] = reply.map(String);
      const instances: AnnouncedInstance[] = [];
      for (let index = 0; index < pairs.length; index += 2) {
        const instance = announcedInstance(stored, String(pairs[index]), String(pairs[index + 1]), Number(time));
        if (instance !== undefined) instances.push(instance);
      }
      return { current: { history: String(epoch), revision: Number(version) }, instances };
    },

    onAnnounced: (listener) => announced.add(listener),

    categories: {
      async publish(id, list) {
        await evaluate(PUBLISH_CATEGORIES, [key('fleet'), key('categories')], [id, list]);
      },

      async read(ids) {
        const found = new Map<string, string>();
        for (let from = 0; from < ids.length; from += LISTS_AT_ONCE) {
          const some = ids.slice(from, from + LISTS_AT_ONCE);
          const lists = (await evaluate(READ_CATEGORIES, [key('categories')], some)) as unknown[];
          for (const [index, list] of lists.entries()) {
            if (list !== null && list !== undefined) found.set(String(some[index]), String(list));
          }
        }
        return found;
      },
    },
  };
}

function announcedInstance(
  stored: StoredValues,
  id: string,
  value: string,
  now: number,
): AnnouncedInstance | undefined {
  const line = value.indexOf('\n');
  const [at, history = '', revision] = value.slice(0, Math.max(0, line)).split(' ');
  const instance = stored.instance(value.slice(line + 1));
  if (instance === undefined) return undefined;
  const applied = history === '' ? undefined : stored.position(history, Number(revision));
  return { ...instance, id, ...(applied && { applied }), silentFor: Math.abs(now - Number(at)) };
}
