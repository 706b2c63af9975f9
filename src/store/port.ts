/** What belongs to a store, for those who write one of their own. */
export type { Level } from '../wire/constants.ts';
export type { MessageStore } from './message-store.ts';
export { type DroppedHead, type Placed, type PrunePlan, planPrune } from './prune-plan.ts';
export type {
  ListedKind,
  ListedRecord,
  RecordKind,
  RecordList,
  RecordStore,
  RecordWrite,
  StoredRecord,
} from './records.ts';
export type * from './state-store.ts';
