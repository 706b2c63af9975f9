/** What belongs to a store, for those who write one of their own. */
export type { Level } from '../wire/constants.ts';
export type { CallFigures, LineCounts, MemberCalls } from '../wire/member-calls.ts';
export type {
  AnnouncedInstance,
  Announcement,
  CategoryLists,
  FleetCount,
  FleetStore,
  FleetView,
  Instance,
  Position,
} from './fleet-store.ts';
export type { MessageStore } from './message-store.ts';
export { type DroppedHead, type Placed, type PrunePlan, planPrune } from './prune-plan.ts';
export type * from './state-store.ts';
export type * from './token-store.ts';
