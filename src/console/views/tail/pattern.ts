// Regular expressions for the filter, matched in linear time: one that somebody types in a hurry must not hang the page, and a
// native one cannot be stopped. Characters and places are left to native expressions of one token each; what is between them
// is walked here, all ways at once (Thompson, 1968). What needs backtracking (references, lookaround) is refused.

/** Start and end of a match. */
export type Range = readonly [start: number, end: number];

interface State {
  /** Matches one character, or a place such as `\b`. Without one, and without ways, the whole expression has matched. */
  readonly token?: RegExp;
  readonly isPlace?: boolean;
  next?: State;
  /** The first one is preferred. */
  ways?: readonly State[];
  /** The step in which it was last added, so that it is added once. */
  step: number;
}

/** A part of the expression: given what follows, returns where it begins. */
type Part = (next: State) => State;

interface Thread {
  readonly state: State;
  /** Where its match began. */
  readonly start: number;
}

const TOKEN =
  /\\(?:x[\da-f]{2}|u[\da-f]{4}|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?:?)?|[|)]|(?:[*+?]|\{\d+(?:,\d*)?\})\??|./gis;
const REPETITION = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})(\??)$/;
const UNSUPPORTED = /^(?:\(\?|\\[1-9kpc])$/i;
const PLACE = /^(?:[$^]|\\b)$/i;

/** Most states: a step costs at most that many. */
const MAX_STATES = 1000;

/** A regular expression without references and lookaround. */
export class Pattern {
  readonly #first: State;
  #step = 0;

  /**
   * @param flags of `i`, `m` and `s`
   * @throws {SyntaxError} with a message for the reader
   */
  constructor(source: string, flags = '') {
    // Says what is wrong with it. Nothing is matched.
    new RegExp(source, flags);
    this.#first = compile(source.match(TOKEN) ?? [], flags);
  }

  test(text: string): boolean {
    return this.find(text, 0, true) !== undefined;
  }

  /** The leftmost match. @param any the first one that is found, which may have another end */
  find(text: string, from = 0, any = false): Range | undefined {
    let found: Range | undefined;
    /** In the order of preference. */
    let threads: Thread[] = [];
    this.#step += 1;
    for (let at = from; at <= text.length && (found === undefined || threads.length > 0); at++) {
      if (found === undefined) this.#add(threads, this.#first, at, text, at);
      this.#step += 1;
      const next: Thread[] = [];
      for (const { state, start } of threads) {
        if (state.token === undefined) {
          found = [start, at];
          if (any) return found;
          // Those after it are less preferred.
          break;
        }
        if (matches(state.token, text, at)) this.#add(next, state.next, start, text, at + 1);
      }
      threads = next;
    }
    return found;
  }

  /** Adds what can be reached without reading. */
  #add(threads: Thread[], state: State | undefined, start: number, text: string, at: number): void {
    if (state === undefined || state.step === this.#step) return;
    state.step = this.#step;
    if (state.ways !== undefined) for (const way of state.ways) this.#add(threads, way, start, text, at);
    else if (state.isPlace !== true) threads.push({ state, start });
    else if (state.token !== undefined && matches(state.token, text, at))
      this.#add(threads, state.next, start, text, at);
  }
}

function matches(token: RegExp, text: string, at: number): boolean {
  token.lastIndex = at;
  return token.test(text);
}

/** @param tokens of an expression that is right */
function compile(tokens: readonly string[], flags: string): State {
  let at = 0;
  let states = 0;

  function made(state: Omit<State, 'step'>): State {
    states += 1;
    if (states > MAX_STATES) throw new SyntaxError('The expression is too long');
    return { ...state, step: -1 };
  }

  function choices(): Part {
    const parts = [sequence()];
    while (tokens[at] === '|') {
      at += 1;
      parts.push(sequence());
    }
    return (next) => made({ ways: parts.map((part) => part(next)) });
  }

  function sequence(): Part {
    const parts: Part[] = [];
    for (let token = tokens[at]; token !== undefined && token !== '|' && token !== ')'; token = tokens[at]) {
      const part = atom(token);
      parts.push(repeated(part));
    }
    return (next) => parts.reduceRight((following, part) => part(following), next);
  }

  function atom(token: string): Part {
    at += 1;
    if (UNSUPPORTED.test(token)) throw new SyntaxError(`${token} is not supported`);
    if (!token.startsWith('(')) {
      const expression = new RegExp(token, `${flags}y`);
      return (next) => made({ token: expression, isPlace: PLACE.test(token), next });
    }
    const part = choices();
    at += 1;
    return part;
  }

  function repeated(part: Part): Part {
    const [, sign, low, comma, high, lazy] = REPETITION.exec(tokens[at] ?? '') ?? [];
    if (lazy === undefined) return part;
    at += 1;
    const min = sign === undefined ? Number(low) : Number(sign === '+');
    const max = sign === '?' ? 1 : sign !== undefined || (comma !== '' && high === '') ? Infinity : Number(high || low);
    const split = (inside: State, outside: State) =>
      made({ ways: lazy === '' ? [inside, outside] : [outside, inside] });
    const optional = (next: State) => {
      if (max < Infinity) {
        let entry = next;
        for (let count = min; count < max; count++) entry = split(part(entry), next);
        return entry;
      }
      const loop = made({});
      loop.ways = split(part(loop), next).ways ?? [];
      return loop;
    };
    return (next) => {
      let entry = optional(next);
      for (let count = 0; count < min; count++) entry = part(entry);
      return entry;
    };
  }

  return choices()(made({}));
}
