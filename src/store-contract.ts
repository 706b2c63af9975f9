export type { Level } from './protocol/constants.ts';
export type { CallFigures, MemberCalls } from './protocol/member-calls.ts';
export type {
  AnnouncedInstance,
  Announcement,
  CategoryLists,
  FleetCount,
  FleetStore,
  FleetView,
  Instance,
  Position,
} from './store/fleet-store.ts';
export { MAX_MESSAGE_BYTES, type MessageStore } from './store/message-store.ts';
export { type DroppedHead, type Placed, type PrunePlan, planPrune } from './store/prune-plan.ts';
export type {
  Activation,
  AuditPage,
  AuditQuery,
  Commit,
  CommitResult,
  Maker,
  Overlay,
  ReplayRecord,
  ScopeKey,
  ScopeState,
  Setting,
  Settings,
  StateStore,
  StoreReset,
} from './store/state-store.ts';
export type {
  Revocation,
  Revocations,
  Rotation,
  RotationOutcome,
  TokenSession,
  TokenStore,
} from './store/token-store.ts';
export { type StoreContractOptions, storeContract } from './store-contract/contract.ts';
export type { ContractCase, StoreFixture } from './store-contract/suite.ts';
