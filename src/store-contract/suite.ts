import type { StateStore } from '../store/state-store.ts';

/** State of its own for one case of the contract, which any number of stores can be opened on. */
export interface StoreFixture {
  /** A further handle on the same state, as another process would hold it. A store that is not shared returns itself. */
  open(): Promise<StateStore>;
  /** Closes every handle and removes the state. */
  dispose(): Promise<void>;
}

/** One case of the contract, for any test runner: `test(name, run)`. */
export interface ContractCase {
  /** A sentence that says what the case shows. */
  readonly name: string;
  /** Rejects where the store does not keep the contract. Each run makes a fixture of its own, and disposes of it. */
  run(): Promise<void>;
}

/** The state of a case: a handle on state with nothing in it, and a way to open further ones. */
export interface Opened {
  readonly store: StateStore;
  readonly open: () => Promise<StateStore>;
}

/** Adds a case, as `test` of a test runner does. */
export type AddCase = (name: string, run: (opened: Opened) => unknown) => void;

/** Collects cases in groups, each case with a fixture of its own. */
export function collectCases(
  create: () => Promise<StoreFixture>,
  define: (group: (title: string) => AddCase) => void,
): readonly ContractCase[] {
  const cases: ContractCase[] = [];
  async function withFixture(run: (opened: Opened) => unknown): Promise<void> {
    const fixture = await create();
    const open = () => fixture.open();
    try {
      await run({ store: await open(), open });
    } finally {
      await fixture.dispose();
    }
  }
  define((title) => (name, run) => cases.push({ name: `${title}: ${name}`, run: () => withFixture(run) }));
  return cases;
}
