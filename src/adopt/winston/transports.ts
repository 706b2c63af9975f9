import { Patches } from '../patches.ts';
import { type Levels, ordinaryOf } from './levels.ts';

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
  readonly #attempt: (work: () => unknown) => unknown;

  /** @param attempt writes a marked line, and reports an error: without us there would have been no line and no error */
  constructor(attempt: (work: () => unknown) => unknown) {
    this.#attempt = attempt;
  }

  /** Marks a line, or what a format has made of it. */
  mark(line: unknown): void {
    if (typeof line === 'object' && line !== null) this.#lines.add(line);
  }

  /** Ends the mark of an object that is written again as another line. */
  unmark(line: unknown): void {
    this.#lines.delete(line as object);
  }

  isMarked(line: unknown): boolean {
    return this.#lines.has(line as object);
  }

  /** Lets marked lines through to these transports from now on. */
  open(transports: readonly object[]): void {
    for (const transport of transports) if (!this.#known.has(transport)) this.#open(transport);
  }

  restore(): void {
    for (const [reference, patches] of this.#patches) if (reference.deref() !== undefined) patches.restore();
    this.#patches = new Map();
    this.#known = new WeakSet();
  }

  #open(transport: object): void {
    const patches = new Patches();
    const through = (self: Transport, line: unknown, proceed: () => unknown): unknown => {
      const { levels } = self;
      if (!this.isMarked(line) || levels === undefined) return proceed();
      self.levels = openLevels(self, levels, String(Reflect.get(line as object, LEVEL)));
      try {
        // Perhaps later, when the transports have caught up.
        return this.#attempt(proceed);
      } finally {
        self.levels = levels;
      }
    };
    patches.around<Transport>(transport, '_write', (self, [line], proceed) => through(self, line, proceed));
    patches.around<Transport>(transport, '_accept', (self, [chunk], proceed) =>
      through(self, (chunk as { readonly chunk?: unknown }).chunk, proceed),
    );
    this.#known.add(transport);
    this.#patches.set(new WeakRef(transport), patches);
  }
}

function openLevels({ level }: Transport, levels: Levels, line: string): Levels {
  const value = level ? ordinaryOf(levels) : Number.NEGATIVE_INFINITY;
  return Object.create(levels, { [line]: { value, enumerable: true } });
}
