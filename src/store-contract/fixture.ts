import type { StateStore } from '../store/state-store.ts';

/** State of its own for one case of the contract, which any number of stores can be opened on. */
export interface StoreFixture {
  /** A further handle on the same state, as another process would hold it. A store that is not shared returns itself. */
  open(): Promise<StateStore>;
  /** Closes every handle and removes the state. */
  dispose(): Promise<void>;
}
