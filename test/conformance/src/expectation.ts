/** A broken rule: the expected and the actual value. */
export class Mismatch extends Error {
  readonly expected: string;
  readonly got: string;

  constructor(expected: string, got: string) {
    super(`expected ${expected}, got ${got}`);
    this.name = 'Mismatch';
    this.expected = expected;
    this.got = got;
  }
}

/** Why a check could not be made. */
export class Skipped extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'Skipped';
  }
}

export function skip(reason: string): never {
  throw new Skipped(reason);
}

/** Fails the check unless `condition` holds. A `got` that is not text is shown as JSON. */
export function expect(condition: boolean, expected: string, got: unknown): asserts condition {
  if (!condition) throw new Mismatch(expected, typeof got === 'string' ? got : show(got));
}

const SHOWN_CHARACTERS = 300;

/** A value as one bounded line. */
export function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value));
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)` : text;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
