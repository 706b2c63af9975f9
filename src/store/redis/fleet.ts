import { type AnnouncedInstance, BEAT_MS, type FleetStore, goneAfter, type Position } from '../fleet-store.ts';
import { Listeners } from '../listeners.ts';
import type { StoredValues } from '../stored-values.ts';
import { evaluate, type Send } from './script.ts';
import { ACKNOWLEDGE, ANNOUNCE, COUNT, FLEET, READ_CATEGORIES, WITHDRAW } from './scripts.ts';

/**
 * An announcement that repeats the last one is a whole one every tenth time: it reads the time and the size of the fleet. Of the
 * others every second one writes the calls, if they have changed.
 */
const WHOLE_EVERY = 10;

/** Most lists of categories in one answer of Redis. */
const LISTS_AT_ONCE = 100;

export interface RedisFleetOptions {
  readonly key: (name: string) => string;
  /** Identifies this handle in the operations that it commits. */
  readonly writer: string;
  readonly send: Send;
  /** The time of Redis, in milliseconds; `undefined` while unknown. */
  readonly redisTime: () => number | undefined;
  /** Notes the time of Redis in an answer. */
  readonly noteTime: (time: number, sentAt: number) => void;
  /** Compares epoch, version and head in Redis with what is known. Nothing else needs to, until the next announcement. */
  readonly compare: (meta: readonly unknown[], beatMs: number) => void;
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
  /** Handles a message of that channel, which anybody may have sent. */
  hear(): void;
  beatMs(): number;
  /** Notes the author of a change, who waits until it is applied here. */
  changedBy(operation: string): void;
}

/** The announcement that Redis has. */
interface Announced {
  readonly id: string;
  /** The instance without its id and its calls. */
  readonly json: string;
  /** Its calls. */
  readonly calls: string;
  /** History and revision. */
  readonly position: readonly [string, string];
  /** How often it was repeated. */
  readonly repeats: number;
}

/**
 * Redis counts who has applied a change, and only the last of them notifies its author. So the cost of a change grows with the
 * number of processes, not with its square.
 */
export function createRedisFleet({
  key,
  writer,
  send,
  redisTime,
  noteTime,
  compare,
  stored,
  position,
  moved,
  sync,
}: RedisFleetOptions): RedisFleet {
  const channelOf = (name: string) => key(`applied:${name}`);
  const keysOf = (...names: string[]) => ['fleet', 'seen', 'applied', 'lost', ...names].map(key);
  const mayBeApplied = new Listeners<[]>('announcements');
  /** Authors of changes that were not yet notified. */
  let waiting = new Set<string>();
  let last: Announced | undefined;
  let beatMs = BEAT_MS;

  /** Says again what Redis already has, and the calls that are new; false if it has forgotten it. */
  async function repeat(id: string, now: number, changed: string | undefined): Promise<boolean> {
    const silence = goneAfter(beatMs);
    const [raised, meta] = await Promise.all([
      // One that is gone is not added: it is lost as well, until it announces itself as a whole.
      send(['ZADD', key('seen'), 'XX', 'CH', String(now + silence), id]),
      send(['HMGET', key('meta'), 'epoch', 'version', 'head']) as Promise<unknown[]>,
      changed !== undefined && send(['HSET', key('fleet'), id, `${silence}\n${changed}`]),
    ]);
    compare(meta, beatMs);
    return Number(raised) === 1;
  }

  /** Says what was applied since; false if Redis has forgotten the instance. */
  async function acknowledge(id: string, position: readonly [string, string], channels: readonly string[]) {
    const keys = [key('seen'), key('applied'), key('meta')];
    const beat = Number(await evaluate(send, ACKNOWLEDGE, keys, [id, ...position, ...channels]));
    if (beat > 0) beatMs = beat;
    return beat > 0;
  }

  return {
    channel: channelOf(writer),

    hear: () => mayBeApplied.call(),

    changedBy(operation) {
      const by = operation.slice(0, operation.lastIndexOf('-'));
      if (by !== '') waiting.add(by);
    },

    position,

    onMoved: (listener) => moved.add(listener),

    async announce({ id, calls: figures, ...instance }, applied) {
      const channels = applied === undefined ? [] : [...waiting].map(channelOf);
      waiting = new Set();
      const { history = '', revision = 0 } = applied ?? {};
      const position = [history, String(revision)] as const;
      const json = JSON.stringify(instance);
      const whole = JSON.stringify({ ...instance, calls: figures });
      const calls = JSON.stringify(figures) ?? '';
      const before = last;
      const now = redisTime();
      last = undefined;
      const hasMoved = before?.position.join() !== position.join();
      // An acknowledgement does not wait for what else is new, which follows with the next announcement.
      const isShort = before?.id === id && (hasMoved || before.json === json) && before.repeats < WHOLE_EVERY - 1;
      if (isShort && now !== undefined) {
        const isCalled = !hasMoved && before.calls !== calls && before.repeats % 2 === 1;
        const isKept = hasMoved
          ? await acknowledge(id, position, channels)
          : await repeat(id, now, isCalled ? whole : undefined);
        if (isKept) {
          const repeats = before.repeats + Number(!hasMoved);
          last = { ...before, position, repeats, ...(isCalled && { calls }) };
          return;
        }
      }
      const sentAt = performance.now();
      const reply = await evaluate(send, ANNOUNCE, keysOf('meta'), [id, ...position, whole, ...channels]);
      const [epoch, version, head, time, beat] = reply as unknown[];
      beatMs = Math.max(BEAT_MS, Number(beat));
      noteTime(Number(time), sentAt);
      compare([epoch, version, head], beatMs);
      last = { id, json, calls, position, repeats: 0 };
    },

    beatMs: () => beatMs,

    async withdraw(id) {
      last = undefined;
      await evaluate(send, WITHDRAW, keysOf('categories'), [id]);
    },

    async count(self, target) {
      const asked = [self, target?.history ?? '', target === undefined ? '' : String(target.revision)];
      const reply = (await evaluate(send, COUNT, keysOf('meta', 'categories'), asked)) as unknown[];
      const [history, revision, instances, applied, silent, silence] = reply;
      return {
        current: { history: String(history), revision: Number(revision) },
        instances: Number(instances),
        applied: Number(applied),
        silent: Number(silent),
        goneAfter: Number(silence),
      };
    },

    async look() {
      // `sync` applies every earlier change here, even when its message was lost.
      const [reply] = await Promise.all([
        evaluate(send, FLEET, keysOf('meta', 'categories'), []) as Promise<unknown[]>,
        sync(),
      ]);
      const current = { history: String(reply[0]), revision: Number(reply[1]) };
      const [seen, lost, applied, values] = reply.slice(3).map(pairsOf);
      const positions = new Map(applied);
      const texts = new Map(values);
      const instances = [...(seen ?? []), ...(lost ?? [])].flatMap(([id, gone]): AnnouncedInstance[] => {
        const text = texts.get(id) ?? '';
        const line = text.indexOf('\n');
        const silence = Number(/^\d{1,9}\n/.exec(text)?.[0] ?? 0);
        const instance = stored.instance(text.slice(line + 1));
        if (instance === undefined || silence === 0) return [];
        const revision = positions.get(id);
        const position = revision === undefined ? undefined : stored.position(current.history, Number(revision));
        const silentFor = Math.max(0, Number(reply[2]) - Number(gone) + silence);
        return [{ ...instance, id, ...(position && { applied: position }), silentFor, goneAfter: silence }];
      });
      return { current, instances };
    },

    onAnnounced: (listener) => mayBeApplied.add(listener),

    categories: {
      async publish(id, list) {
        await send(['HSET', key('categories'), id, list]);
      },

      async read(ids) {
        const found = new Map<string, string>();
        for (let from = 0; from < ids.length; from += LISTS_AT_ONCE) {
          const some = ids.slice(from, from + LISTS_AT_ONCE);
          const lists = (await evaluate(send, READ_CATEGORIES, [key('categories')], some)) as unknown[];
          for (const [index, list] of lists.entries()) {
            if (list !== null && list !== undefined) found.set(String(some[index]), String(list));
          }
        }
        return found;
      },
    },
  };
}

/** Name and value, … as Redis answers them. */
function pairsOf(reply: unknown): (readonly [string, string])[] {
  const items = reply as readonly unknown[];
  return Array.from({ length: items.length / 2 }, (_, index) => [
    String(items[2 * index]),
    String(items[2 * index + 1]),
  ]);
}
