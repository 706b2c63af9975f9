import { GONE_MS, type Instance } from '../../src/store/fleet.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { RecordStore } from '../../src/store/records.ts';
import type { Position, StateStore } from '../../src/store/state-store.ts';
import { withMembers } from './server.ts';

export interface MadeUp extends Pick<Instance, 'host' | 'pid' | 'service' | 'version' | 'startedAt'> {
  /** Whether it has not applied the newest change. */
  readonly behind?: boolean;
}

/**
 * A store in memory with processes that are nowhere, to show a large fleet, or one that is the same every time.
 * @param showsOwn whether this process is in the list too
 */
export function storeWithFleet(
  processes: readonly MadeUp[],
  memory: StateStore = createMemoryStore(),
  showsOwn = true,
): StateStore {
  let revision = 0;
  const position = (): Position => ({ history: 'made-up', revision });
  const moved = new Set<() => void>();
  const own = memory.records!;
  const expiresAt = Number.MAX_SAFE_INTEGER;
  const named = new Map(
    processes.map(({ behind, ...process }, index) => {
      const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
      return [id, { behind, value: JSON.stringify(process) }] as const;
    }),
  );
  const records: RecordStore = {
    ...own,
    async get(kind, keys, now) {
      const found = keys.flatMap((key) => {
        const value = kind === 'member' ? named.get(key)?.value : undefined;
        return value === undefined ? [] : [[key, { value, expiresAt }] as const];
      });
      return new Map([...(await own.get(kind, keys, now)), ...found]);
    },
    async list(kind, after, now) {
      const list = await own.list(kind, after, now);
      if (kind !== 'beat') return list;
      const beats = [...named].map(([key, { behind }]) => {
        const applied = behind ? Math.max(0, revision - 1) : revision;
        return { key, value: `${GONE_MS} ${applied} made-up`, expiresAt, age: 100 };
      });
      return { ...list, records: [...beats, ...(showsOwn ? list.records : [])] };
    },
  };
  const commit: StateStore['commit'] = async (write) => {
    const result = await memory.commit(write);
    if (result.outcome === 'committed' && write.state !== undefined) revision += 1;
    for (const listener of moved) listener();
    return result;
  };
  const positions: StateStore['positions'] = {
    position,
    newest: async () => position(),
    onMoved: (listener) => {
      moved.add(listener);
      return () => moved.delete(listener);
    },
  };
  return withMembers(memory, { records, positions, commit });
}
