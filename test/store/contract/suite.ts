import { test } from 'node:test';
import type { StateStore } from '../../../src/store/state-store.ts';

/** State of its own for one test, which any number of stores can be opened on. */
export type StoreFixture = ReturnType<typeof fixtureOf>;

/**
 * A fixture that closes whatever it opened.
 * @param open a further handle on the same state
 */
export function fixtureOf(open: () => StateStore | Promise<StateStore>, remove: () => unknown = () => {}) {
  const opened: StateStore[] = [];
  return {
    /** A further handle on the same state, as another process would hold it. A store that is not shared returns itself. */
    async open() {
      const store = await open();
      opened.push(store);
      return store;
    },
    /** Closes every handle and removes the state. */
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
    try {
      await run({ store: await fixture.open(), open: fixture.open });
    } finally {
      await fixture.dispose();
    }
  };
}
