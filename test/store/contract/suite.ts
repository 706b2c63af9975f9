import { test } from 'node:test';
import type { StateStore } from '../../../src/store/state-store.ts';

/** State of its own for one test, which any number of stores can be opened on. */
export interface StoreFixture {
  /** A further handle on the same state, as another process would hold it. A store that is not shared returns itself. */
  open(): Promise<StateStore>;
  /** Closes every handle and removes the state. */
  dispose(): Promise<void>;
}

/**
 * A fixture that closes whatever it opened.
 * @param open a further handle on the same state
 */
export function fixtureOf(
  open: () => StateStore | Promise<StateStore>,
  remove: () => unknown = () => {},
): StoreFixture {
  const opened: StateStore[] = [];
  return {
    async open() {
      const store = await open();
      opened.push(store);
      return store;
    },
    async dispose() {
      for (const store of opened) await store.close();
      await remove();
    },
  };
}

/** A handle on state with nothing in it, and a way to open further ones. */
interface Opened {
  readonly store: StateStore;
  readonly open: () => Promise<StateStore>;
}

export type AddCase = (name: string, run: (opened: Opened) => unknown) => void;

/** Adds tests in groups, each test with a fixture of its own. */
export function testsOn(create: () => Promise<StoreFixture>): (group: string) => AddCase {
  return (group) => (name, run) => void test(`${group}: ${name}`, onFixture(create, run));
}

function onFixture(create: () => Promise<StoreFixture>, run: (opened: Opened) => unknown) {
  return async () => {
    const fixture = await create();
    const open = () => fixture.open();
    try {
      await run({ store: await open(), open });
    } finally {
      await fixture.dispose();
    }
  };
}
