import { Patches } from './patches.ts';

interface Transport {
  readonly level?: string;
  levels?: Readonly<Record<string, number>>;
}

interface Line {
  readonly [key: symbol]: unknown;
}

const LEVEL = Symbol.for('level');
const PASSES = Symbol('rdcp.passes');

/**
 * Lets single lines through to transports whatever the logger's level is: to those without a level of their own, and to
 * those that take INFO. A file for errors stays one. Only while such a transport looks at the line do its `levels` say that
 * the line is INFO.
 */
export class LetThrough {
  #patches = new Map<WeakRef<object>, Patches>();
  #known = new WeakSet<object>();

  /** The mark survives formats that copy the line. */
  mark(line: object, transports: readonly object[]): void {
    Object.defineProperty(line, PASSES, { value: true, configurable: true, enumerable: true, writable: true });
    for (const transport of transports) if (!this.#known.has(transport)) this.#open(transport);
  }

  restore(): void {
    for (const [reference, patches] of this.#patches) if (reference.deref() !== undefined) patches.restore();
    this.#patches = new Map();
    this.#known = new WeakSet();
  }

  #open(transport: object): void {
    const patches = new Patches();
    const through = (original: (this: Transport, ...args: unknown[]) => unknown, lineOf: (first: unknown) => unknown) =>
      function (this: Transport, ...args: unknown[]): unknown {
        const line = lineOf(args[0]) as Line | undefined;
        const { levels } = this;
        if (line?.[PASSES] !== true || levels === undefined) return original.apply(this, args);
        this.levels = openLevels(this, levels, String(line[LEVEL]));
        try {
          return original.apply(this, args);
        } finally {
          this.levels = levels;
        }
      };
    patches.wrap<Transport>(transport, '_write', (original) => through(original, (line) => line));
    patches.wrap<Transport>(transport, '_accept', (original) =>
      through(original, (chunk) => (chunk as { readonly chunk?: unknown }).chunk),
    );
    this.#known.add(transport);
    this.#patches.set(new WeakRef(transport), patches);
  }
}

function openLevels({ level }: Transport, levels: Readonly<Record<string, number>>, opened: string) {
  const value = level ? (levels.info ?? levels[opened]) : Number.NEGATIVE_INFINITY;
  return Object.create(levels, { [opened]: { value, enumerable: true } });
}
