// Faults that no test can notice, because nobody could: the runner leaves them out.

export interface Equivalent {
  readonly file: string;
  /** The line, as it stands. */
  readonly line: string;
  readonly instead: string;
  readonly because: string;
}

export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: 'src/calls/emit/attributes.ts',
    line: "if (given !== undefined && (given === null || typeof given !== 'object' || !isPlain(given))) return undefined;",
    instead: '(given !== undefined)',
    because: 'the usual case is only faster, which benchmarks/emit.ts measures',
  },
  {
    file: 'src/calls/emit/budgets.ts',
    line: 'const controls = tenantId === undefined ? undefined : this.#controls.get(category.index);',
    instead: 'false',
    because: 'no control has an undefined tenant',
  },
  {
    file: 'src/calls/tail/call-counter.ts',
    line: '...(this.#problem !== undefined && { problem: this.#problem }),',
    instead: '({ problem: this.#problem })',
    because: 'JSON leaves out what is undefined',
  },
  {
    file: 'src/trail/chain.ts',
    line: 'previousRetainUntil !== undefined && (sequence === 0 || Date.parse(previousRetainUntil) < now + CLOCKS_DIFFER_MS);',
    instead: ' <= ',
    because: 'a millisecond of a tolerance of a day',
  },
  {
    file: 'src/control/active-parts.ts',
    line: 'parts.delete(name);',
    instead: ';',
    because: 'a category that an activation loses does not come back, and its end does nothing the second time',
  },
  {
    file: 'src/control/local-controls.ts',
    line: 'const { at = 0 } = decisions.get(category) ?? {};',
    instead: '1',
    because: 'both are before any change',
  },
  {
    file: 'src/gate/tallies.ts',
    line: 'this.#withSnapshots.delete(tally);',
    instead: ';',
    because: 'the tally of an evicted tenant also leaves with its last snapshot; until then it costs memory',
  },
  {
    file: 'src/control/active-parts.ts',
    line: 'if (before.size + activations.length === 0) return;',
    instead: 'false',
    because: 'it only saves the work for a scope that has and had none',
  },
  {
    file: 'src/control/refusals.ts',
    line: "{ ...(method !== undefined && { method }), details: { reason: 'own_request' } }),",
    instead: '({ method })',
    because: 'JSON leaves out what is undefined',
  },
  {
    file: 'src/store/postgres/audit.ts',
    line: 'for (let start = 0; start < positions.length; start += DROPPED_AT_ONCE) {',
    instead: ' <= ',
    because: 'the last query then deletes nothing',
  },
];
