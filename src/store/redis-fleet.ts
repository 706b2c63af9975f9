import { type AnnouncedInstance, type FleetStore, GONE_MS, type Instance, type Position } from './fleet-store.ts';
import { ANNOUNCE, FLEET, type Script, WITHDRAW } from './redis-scripts.ts';

export interface RedisFleetOptions {
  readonly key: (name: string) => string;
  /** Identifies this handle in the operations that it commits. */
  readonly writer: string;
  readonly evaluate: (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** The values of a message signed by Redis; `undefined` for any other message. */
  readonly open: (message: string) => readonly unknown[] | undefined;
  readonly position: () => Position | undefined;
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
  /** Called when the position has moved. */
  moved(): void;
}

/**
 * Only the author of a change is notified when another process has applied it. So the cost of a change grows with the
 * number of processes, not with its square.
 */
export function createRedisFleet({ key, writer, evaluate, open, position, sync }: RedisFleetOptions): RedisFleet {
  const channelOf = (name: string) => key(`applied:${name}`);
  const movedListeners = new Set<{ readonly listener: () => void }>();
  const announcedListeners = new Set<{ readonly listener: (id: string, applied: Position) => void }>();
  /** Authors of changes that were not yet notified. */
  let waiting = new Set<string>();

  return {
    channel: channelOf(writer),

    hear(message) {
      const [id, history, revision] = open(message) ?? [];
      // Ignoring a message only costs time: waiting processes also read the hash.
      if (id === undefined) return;
      const applied = { history: String(history), revision: Number(revision) };
      for (const { listener } of announcedListeners) listener(String(id), applied);
    },

    changedBy(operation) {
      const by = operation.slice(0, operation.lastIndexOf('-'));
      if (by !== '' && by !== writer) waiting.add(by);
    },

    moved() {
      for (const { listener } of movedListeners) listener();
    },

    position,

    onMoved(listener) {
      const entry = { listener };
      movedListeners.add(entry);
      return () => movedListeners.delete(entry);
    },

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
      await evaluate(WITHDRAW, [key('fleet')], [id]);
    },

    async look() {
      // `sync` applies every earlier change here, even when its message was lost.
      const [reply] = await Promise.all([
        evaluate(FLEET, [key('meta'), key('fleet')], [String(GONE_MS)]) as Promise<unknown[]>,
        sync(),
      ]);
      const [epoch, version, time, ...pairs] = reply.map(String);
      const instances: AnnouncedInstance[] = [];
      for (let index = 0; index < pairs.length; index += 2) {
        const instance = announcedInstance(String(pairs[index]), String(pairs[index + 1]), Number(time));
        if (instance !== undefined) instances.push(instance);
      }
      return { current: { history: String(epoch), revision: Number(version) }, instances };
    },

    onAnnounced(listener) {
      const entry = { listener };
      announcedListeners.add(entry);
      return () => announcedListeners.delete(entry);
    },
  };
}

const isString = (value: unknown) => typeof value === 'string';

/** `undefined` for a value that is not an instance, or has the format of another release. */
function announcedInstance(id: string, value: string, now: number): AnnouncedInstance | undefined {
  const line = value.indexOf('\n');
  const [at, history = '', revision] = value.slice(0, line).split(' ');
  try {
    const instance: Omit<Instance, 'id'> = JSON.parse(value.slice(line + 1));
    const { host, pid, service, startedAt } = instance;
    const complete = [host, service].every(isString) && [pid, startedAt, Number(revision)].every(Number.isFinite);
    if (!complete) return undefined;
    return {
      ...instance,
      id,
      ...(history !== '' && { applied: { history, revision: Number(revision) } }),
      silentFor: Math.max(0, now - Number(at)),
    };
  } catch {
    return undefined;
  }
}
