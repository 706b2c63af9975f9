import { inspect } from 'node:util';
import { isBoxedPrimitive, isDate, isPromise, isProxy, isRegExp, isWeakMap, isWeakSet } from 'node:util/types';
import { REDACTED } from '../../wire/credentials.ts';
import { hiddenIn, hidesNext, isHiddenEntry, type Redaction } from '../../wire/redaction.ts';
import { describeThrown, isError } from '../../wire/thrown.ts';
import { formatLine, UNFORMATTABLE } from './formatting.ts';
import { MAX_DEPTH, MAX_ENTRIES, MAX_VALUE_BYTES } from './text.ts';
import { isPlain, ValueBuilder } from './value.ts';

/** The message that a credential is formatted into. */
const FORMS_A_CREDENTIAL = /bearer|:\/\//i;
/** A name and a value in quotes, as `util.inspect` and JSON write them. */
const INSPECTED =
  /(?<![\w$-])([\w$-]+|'[^'\n]{1,100}'|"[^"\n]{1,100}")(\s{0,9}(?::|=>)\s{0,9})(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;

/**
 * Redacts the arguments of another library's logger before it formats them. Plain objects, lists and errors keep their
 * class, and stay the same object where nothing is hidden. Others, such as Maps and instances of classes, become plain data,
 * as attributes do: what their own formatting would show cannot be known. Never throws.
 */
export class ArgumentRedaction {
  readonly #redaction: Redaction;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  /** The arguments of a call. A text that is a hidden name hides the next one, but for the message. */
  values(args: readonly unknown[]): unknown[] {
    return args.map((value, position) =>
      position > 1 && hidesNext(args[position - 1], this.#redaction) ? REDACTED : this.value(value),
    );
  }

  /** The same for a logger that formats a message with the arguments behind it, as in `Bearer %s`. */
  formatted(args: readonly unknown[]): unknown[] {
    const shown = this.values(args);
    const at = typeof args[0] === 'string' ? 0 : 1;
    const message = args[at];
    if (args.length <= at + 1 || typeof message !== 'string' || !FORMS_A_CREDENTIAL.test(message)) return shown;
    const text = formatLine([message, ...shown.slice(at + 1)]);
    const masked = this.text(text);
    return masked === text ? shown : [...shown.slice(0, at), masked];
  }

  /** A text in which objects were formatted already: what stands behind a hidden name in quotes. */
  inspected(given: string): string {
    return this.text(given).replace(INSPECTED, (entry, name: string, between: string) =>
      this.#redaction.hides(name) ? `${name}${between}'${REDACTED}'` : entry,
    );
  }

  value(given: unknown): unknown {
    return this.#walk(given, (walk) => walk.value(given, 0));
  }

  /** The text of a line. */
  text(given: string): string {
    return this.#redaction.mask(given);
  }

  /** An object whose class counts, such as winston's line. @param except names of fields that stay as they are, but for errors */
  fields<T extends object>(given: T, except: object = {}): T {
    return this.#walk(given, (walk) => walk.holder(given, except, (value) => this.value(value))) as T;
  }

  #walk(given: unknown, work: (walk: Walk) => unknown): unknown {
    const build = (value: unknown) => new ValueBuilder(MAX_VALUE_BYTES, {}, '', this.#redaction).build(value);
    try {
      const walk = new Walk(this.#redaction, build);
      const shown = work(walk);
      if (!walk.exhausted) return shown;
      // Loggers know an error by its class.
      return isError(given) ? new Walk(this.#redaction, build).holder(given, {}, build) : build(given);
    } catch (error) {
      return this.text(`[Threw ${describeThrown(error)}]`);
    }
  }
}

/** Copies objects where something in them is hidden. */
class Walk {
  /** Whether the object is too large or too deep, or holds itself. */
  exhausted = false;
  #left = MAX_ENTRIES;
  readonly #redaction: Redaction;
  readonly #build: (value: unknown) => unknown;

  constructor(redaction: Redaction, build: (value: unknown) => unknown) {
    this.#redaction = redaction;
    this.#build = build;
  }

  value(given: unknown, depth: number): unknown {
    if (typeof given === 'string') return this.#redaction.mask(given);
    if (typeof given !== 'object' || given === null || this.exhausted || holdsNoText(given)) return given;
    return isTransparent(given) ? this.fields(given, depth) : this.#build(given);
  }

  fields(object: object, depth: number): object {
    const keys = Reflect.ownKeys(object);
    this.#left -= keys.length;
    this.exhausted ||= this.#left < 0 || depth > MAX_DEPTH;
    return this.exhausted ? object : this.#shown(object, keys, (value) => this.value(value, depth + 1));
  }

  /** An object whose fields are bounded one by one. @param except names of fields that stay as they are, but for errors */
  holder(object: object, except: object, redact: (value: unknown) => unknown): object {
    const nested = (value: unknown, key: PropertyKey) =>
      Object.hasOwn(except, key) && !isError(value) ? value : redact(value);
    return this.#shown(object, Reflect.ownKeys(object), nested, except);
  }

  #shown(
    object: object,
    keys: readonly (string | symbol)[],
    nested: (value: unknown, key: PropertyKey) => unknown,
    except: object = {},
  ): object {
    const list = Array.isArray(object);
    const names = keys.map((key) => (typeof key === 'symbol' ? (key.description ?? '') : key));
    const hides = hiddenIn(object, names, this.#redaction);
    let copy: object | undefined;
    for (const [position, key] of keys.entries()) {
      if (list && key === 'length') continue;
      const given = read(object, key);
      const hidden = list ? isHiddenEntry(position, object[position - 1], this.#redaction) : hides(names[position]!);
      const isHidden = hidden && given !== undefined && !Object.hasOwn(except, key);
      const shown = given === THREW ? UNFORMATTABLE : isHidden ? REDACTED : nested(given, key);
      if (Object.is(shown, given)) continue;
      copy ??= list ? object.slice() : copyOf(object);
      Object.defineProperty(copy, key, { value: shown });
    }
    return copy ?? object;
  }
}

/** Stands for a field whose getter throws. */
const THREW = Symbol('threw');

function read(object: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(object, key);
  } catch {
    return THREW;
  }
}

/** A copy whose properties can be changed, those of a frozen object and those with getters, too. */
function copyOf(object: object): object {
  const copy = Object.create(Object.getPrototypeOf(object));
  for (const key of Reflect.ownKeys(object)) {
    const enumerable = Object.prototype.propertyIsEnumerable.call(object, key);
    const value = read(object, key);
    Object.defineProperty(copy, key, { value, enumerable, configurable: true, writable: true });
  }
  return copy;
}

/** Dates and such; also bytes, in which nothing is searched. */
function holdsNoText(value: object): boolean {
  if (ArrayBuffer.isView(value)) return true;
  return [isDate, isRegExp, isBoxedPrimitive, isPromise, isWeakMap, isWeakSet].some((is) => is(value));
}

/** Whether formatting shows the object's own fields and nothing else. */
function isTransparent(value: object): boolean {
  if (isProxy(value) || inspect.custom in value) return false;
  if (Array.isArray(value) || isError(value)) return true;
  return isPlain(value) && typeof Reflect.get(value, 'toJSON') !== 'function';
}
