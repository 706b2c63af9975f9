import { Patches } from './patches.ts';
import { type Levels, ordinaryOf } from './winston-levels.ts';

interface Transport {
  readonly level?: string;
  levels?: Levels;
}

const LEVEL = Symbol.for('level');

/**
 * Lets single lines through to transports whatever the logger's level is: to those without a level of their own, and to
 * those that take INFO. A file for errors stays one. Only while such a transport looks at the line do its `levels` say that
 * the line is INFO.
 */
export class LetThrough {
  #patches = new Map<WeakRef<object>, Patches>();
  #known = new WeakSet<object>();
  /** Lines are kept aside: a property of theirs would be seen by formats that print the whole line. */
  readonly #lines = new WeakSet<object>();

  mark(line: object, transports: readonly object[]): void {
    this.#lines.add(line);
    for (const transport of transports) if (!this.#known.has(transport)) this.#open(transport);
  }

  /** Ends the mark of an object that is written again as another line. */
  unmark(line: unknown): void {
    if (typeof line === 'object' && line !== null) this.#lines.delete(line);
  }

  isMarked(line: unknown): boolean {
    return typeof line === 'object' && line !== null && this.#lines.has(line);
  }

  /** Marks what a format has made of a marked line. */
  keep(formatted: unknown): void {
    if (typeof formatted === 'object' && formatted !== null) this.#lines.add(formatted);
  }

  restore(): void {
    for (const [reference, patches] of this.#patches) if (reference.deref() !== undefined) patches.restore();
    this.#patches = new Map();
    this.#known = new WeakSet();
  }

  #open(transport: object): void {
    const letThrough = this;
    const patches = new Patches();
    const through = (original: (this: Transport, ...args: unknown[]) => unknown, lineOf: (first: unknown) => unknown) =>
      function (this: Transport, ...args: unknown[]): unknown {
        const line = lineOf(args[0]);
        const { levels } = this;
        if (!letThrough.isMarked(line) || levels === undefined) return original.apply(this, args);
        this.levels = openLevels(this, levels, String(Reflect.get(line as object, LEVEL)));
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

/** Opened levels by the transport's levels, by the level that is opened and whether the transport has a level of its own. */
const opened = new WeakMap<Levels, Map<string, Levels>>();

function openLevels({ level }: Transport, levels: Levels, line: string): Levels {
  const known = opened.get(levels) ?? new Map<string, Levels>();
  const key = `${level ? 'own' : 'none'} ${line}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const value = level ? ordinaryOf(levels) : Number.NEGATIVE_INFINITY;
  const made: Levels = Object.create(levels, { [line]: { value, enumerable: true } });
  opened.set(levels, known.set(key, made));
  return made;
}
