/** One case of the contract, for any test runner: `test(name, run)`. */
export interface ContractCase {
  /** What the case shows, as a sentence. */
  readonly name: string;
  /** Rejects where the store does not keep the contract. Each run makes a fixture of its own, and disposes of it. */
  run(): Promise<void>;
}

type Step = () => unknown;

/** Collects cases as a test runner would, in groups with what comes before and after each. */
export interface Suite {
  describe(name: string, define: () => void): void;
  test(name: string, run: Step): void;
  beforeEach(step: Step): void;
  afterEach(step: Step): void;
}

interface Group {
  readonly names: readonly string[];
  readonly before: readonly Step[];
  readonly after: readonly Step[];
}

export function collectCases(define: (suite: Suite) => void): readonly ContractCase[] {
  const cases: ContractCase[] = [];
  let group: Group = { names: [], before: [], after: [] };
  define({
    describe(name, defineGroup) {
      const outer = group;
      group = { ...outer, names: [...outer.names, name] };
      defineGroup();
      group = outer;
    },
    test(name, run) {
      const { names, before, after } = group;
      cases.push({ name: [...names, name].join(': '), run: () => runBetween(before, run, after) });
    },
    beforeEach(step) {
      group = { ...group, before: [...group.before, step] };
    },
    afterEach(step) {
      group = { ...group, after: [step, ...group.after] };
    },
  });
  return cases;
}

async function runBetween(before: readonly Step[], run: Step, after: readonly Step[]): Promise<void> {
  try {
    for (const step of before) await step();
    await run();
  } finally {
    for (const step of after) await step();
  }
}
