import type { FleetStore, Instance, Position } from '../../src/store/fleet-store.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';

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
  let own: Instance | undefined;
  const fleet: FleetStore = {
    position,
    onMoved: (listener) => {
      moved.add(listener);
      return () => moved.delete(listener);
    },
    announce: async (instance) => {
      own = instance;
    },
    withdraw: async () => undefined,
    look: async () => ({
      current: position(),
      instances: [
        ...processes.map(({ behind = false, ...process }, index) => ({
          ...process,
          id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
          applied: behind ? { history: 'made-up', revision: Math.max(0, revision - 1) } : position(),
          silentFor: 100,
        })),
        ...(own !== undefined && showsOwn ? [{ ...own, applied: position(), silentFor: 0 }] : []),
      ],
    }),
    onAnnounced: () => () => undefined,
  };
  const commit: StateStore['commit'] = async (write) => {
    const result = await memory.commit(write);
    if (result.outcome === 'committed' && write.state !== undefined) revision += 1;
    for (const listener of moved) listener();
    return result;
  };
  const members = { fleet, commit };
  return new Proxy(memory, {
    get: (target, name) => {
      const value: unknown = name in members ? Reflect.get(members, name) : Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
