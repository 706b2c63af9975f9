import type { FleetStore } from '../store/fleet-store.ts';

/**
 * The processes of one namespace. Their ids in the store begin with the namespace; processes of other namespaces are hidden,
 * because they do not apply these changes. All namespaces share the store's revision.
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
