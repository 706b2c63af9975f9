import type { FleetStore } from '../store/fleet-store.ts';

/**
 * The processes of one namespace, under ids that begin with its name: those of another have nothing to apply, and are nobody's
 * business here. The store's revision stays one for all.
 */
export function createNamespacedFleet(fleet: FleetStore, prefix: string): FleetStore {
  return {
    position: () => fleet.position(),
    onMoved: (listener) => fleet.onMoved(listener),
    announce: (instance, applied) => fleet.announce({ ...instance, id: prefix + instance.id }, applied),
    withdraw: (id) => fleet.withdraw(prefix + id),
    async look() {
      const { current, instances } = await fleet.look();
      const own = instances.filter(({ id }) => id.startsWith(prefix));
      return { current, instances: own.map((instance) => ({ ...instance, id: instance.id.slice(prefix.length) })) };
    },
    onAnnounced: (listener) =>
      fleet.onAnnounced((id, applied) => {
        if (id.startsWith(prefix)) listener(id.slice(prefix.length), applied);
      }),
  };
}
