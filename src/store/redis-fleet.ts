import { type AnnouncedInstance, type FleetStore, GONE_MS, type Instance, type Position } from './fleet-store.ts';
import { ANNOUNCE, FLEET, type Script, WITHDRAW } from './redis-scripts.ts';

export interface RedisFleetOptions {
  readonly key: (name: string) => string;
  /** Names this handle in the operations that it commits. */
  readonly writer: string;
  readonly evaluate: (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** The values of a message that Redis has signed; `undefined` for any other. */
  readonly open: (message: string) => readonly unknown[] | undefined;
  readonly position: () => Position | undefined;
  /** Reads what changed. */
  readonly sync: () => Promise<void>;
}

/** The fleet in Redis, and what the store of the same handle tells it. */
export interface RedisFleet extends FleetStore {
  /** The channel on which others tell this handle how far they are. */
  readonly channel: string;
  /** Takes a message of that channel. */
  hear(message: string): void;
  /** A change came: whoever made it wants to know when it is applied here. */
  changedBy(operation: string): void;
  /** The position has moved. */
  moved(): void;
}

/**
 * Who changed something hears from every other process when it is applied there, and nobody else does: what a change
 * costs Redis grows with the number of processes, not with its square.
 */
export function createRedisFleet({ key, writer, evaluate, open, position, sync }: RedisFleetOptions): RedisFleet {
  const channelOf = (name: string) => key(`applied:${name}`);
  const movedListeners = new Set<{ readonly listener: () => void }>();
  const announcedListeners = new Set<{ readonly listener: (id: string, applied: Position) => void }>();
  /** Those who changed something and were not told yet that it is applied here. */
  let waiting = new Set<string>();

  return {
    channel: channelOf(writer),

    hear(message) {
      const [id, history, revision] = open(message) ?? [];
      // One that is not believed costs time only: whoever waits looks at the hash too.
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
      const told = waiting;
      waiting = new Set();
      const { history = '', revision = 0 } = applied ?? {};
      const channels = applied === undefined ? [] : [...told].map(channelOf);
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
      // What was changed before this look is known here by its end, also where its message was lost.
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

/** `undefined` for a value that is no instance's, or that another release wrote in another form. */
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
