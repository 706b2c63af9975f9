// Gates that were tried and are slower, kept so that nobody tries them a second time without knowing.

import type { AsyncLocalStorage } from 'node:async_hooks';
import { do_not_optimize } from 'mitata';
import type { Candidate } from './measurement.ts';

interface Checked {
  readonly enabled: boolean;
}

class PrivateFields implements Checked {
  readonly #interest: Uint32Array;
  readonly #word: number;
  readonly #mask: number;

  constructor(interest: Uint32Array, index: number) {
    this.#interest = interest;
    this.#word = index >>> 5;
    this.#mask = 1 << (index & 31);
  }

  get enabled(): boolean {
    return (this.#interest[this.#word]! & this.#mask) !== 0;
  }
}

/** One boolean per handle: as fast, but every switch walks the handles, and there is no array to ask for all at once. */
class BooleanProperty implements Checked {
  enabled = false;
}

function getterClosure(interest: Uint32Array, index: number): Checked {
  const word = index >>> 5;
  const mask = 1 << (index & 31);
  return {
    get enabled() {
      return (interest[word]! & mask) !== 0;
    },
  };
}

export function rejectedGates(storage: AsyncLocalStorage<Set<string>>): Candidate[] {
  const interest = new Uint32Array(128);
  // Eight of each, as a service has several: one alone would be a constant to V8.
  const indexes = [0, 1, 2, 3, 4, 5, 6, 7];
  const privateFields = indexes.map((index) => new PrivateFields(interest, index))[4]!;
  const booleans = indexes.map(() => new BooleanProperty());
  booleans[5]!.enabled = true;
  const boolean = booleans[4]!;
  const closure = indexes.map((index) => getterClosure(interest, index))[4]!;
  const byName = new Map(indexes.map((index) => [`C${index}`, index === 5]));
  const config: Record<string, boolean> = Object.fromEntries(byName);
  const names = [...byName.keys()];
  let next = 0;

  return [
    {
      name: 'rejected: private # fields',
      call: () => do_not_optimize(privateFields.enabled),
    },
    {
      name: 'rejected: boolean property of the handle',
      call: () => do_not_optimize(boolean.enabled),
    },
    {
      name: 'rejected: getter closed over word and mask',
      call: () => do_not_optimize(closure.enabled),
    },
    {
      name: 'rejected: Map looked up by name',
      call: () => do_not_optimize(byName.get(names[next++ & 3]!) === true),
    },
    {
      name: 'rejected: config[NAME]',
      call: () => do_not_optimize(config[names[next++ & 3]!] === true),
    },
    {
      name: 'rejected: reading the async context first',
      within: (run) => storage.run(new Set(), run),
      call: () => do_not_optimize(storage.getStore()?.has('CHECKOUT') === true),
    },
  ];
}
