import {
  isAnyArrayBuffer,
  isBoxedPrimitive,
  isDate,
  isMap,
  isPromise,
  isRegExp,
  isSet,
  isUint8Array,
  isWeakMap,
  isWeakSet,
} from 'node:util/types';
import { REDACTED } from '../../wire/credentials.ts';
import type { Fields, Value } from '../../wire/debug-record.ts';
import { hiddenIn, isHiddenEntry, type Redaction } from '../../wire/redaction.ts';
import { describeThrown, errorFields, fieldOf, isError } from '../../wire/thrown.ts';
import { cutText, fit, MAX_DEPTH, MAX_ENTRIES, MAX_NAME_BYTES, MAX_UNIT_BYTES } from './text.ts';

/** The least room worth using for a value. */
export const MIN_VALUE_BYTES = 1024;
/** Reserved for truncation remarks at each depth, and for one entry that overshoots. */
const RESERVE_BYTES = 768;
/** Longest stack trace of a nested error, in bytes, so that its cause fits beside it. */
const MAX_INNER_STACK_BYTES = 2048;
/** Strings up to this length are built before longer ones and objects, which may use up the room. */
const SHORT = 256;
/** Replaces the omitted entries of an object. */
const REST = '…';
/** Size of the remark on how many were left out. */
const REMARK_BYTES = 40;

/**
 * Converts any value to plain data within a number of JSON bytes. The only application code that it runs is getters,
 * `toJSON` and proxy traps. A getter that throws is skipped; an exception of `toJSON` or a trap is described in the
 * value's place.
 */
export class ValueBuilder {
  /** Whether anything was left out. */
  cut = false;
  readonly #room: number;
  #left: number;
  /** The enclosing objects, outermost first, and the name of each nested one. */
  readonly #ancestors: object[];
  readonly #path: string[];
  readonly #redaction: Redaction;
  readonly #fair: boolean;

  /**
   * @param holder the object that the value is an attribute of
   * @param redaction of nested values, and of texts
   * @param fair gives a large field only half of the remaining room when other large ones follow
   */
  constructor(maxBytes: number, holder: object, name: string, redaction: Redaction, fair = false) {
    this.#redaction = redaction;
    this.#fair = fair;
    this.#room = maxBytes - RESERVE_BYTES;
    this.#left = this.#room;
    this.#ancestors = [holder];
    this.#path = [name];
  }

  /** Bytes built so far. */
  get bytes(): number {
    return this.#room - this.#left;
  }

  /** Returns `undefined` only for `undefined`. */
  build(value: unknown): Value | undefined {
    switch (typeof value) {
      case 'string':
        return this.#text(value);
      case 'number':
        return this.#number(value);
      case 'boolean':
        this.#left -= 5;
        return value;
      case 'undefined':
        return undefined;
      case 'bigint':
      case 'symbol':
        return this.#text(String(value));
      case 'function':
        return this.#text(`[Function: ${nameOf(value) ?? 'anonymous'}]`);
      case 'object':
        return value === null ? this.#null() : this.#object(value);
    }
  }

  /** The details of an error whose type, message and stack trace are stored elsewhere. */
  buildDetails(error: Error, details: Readonly<Record<string, unknown>>): Value {
    this.#ancestors.push(error);
    return this.#fields(details);
  }

  #text(text: string): Value {
    return this.#textWithin(text, this.#left);
  }

  #textWithin(text: string, maxBytes: number): Value {
    const { text: kept, cut } = cutText(text, Math.max(0, maxBytes - 2), this.#redaction.mask);
    if (cut) this.cut = true;
    this.#left -= fit(kept, kept.length * MAX_UNIT_BYTES).bytes + 2;
    return kept;
  }

  /** JSON cannot represent infinities and NaN. */
  #number(value: number): Value {
    if (!Number.isFinite(value)) return this.#text(String(value));
    this.#left -= String(value).length;
    return value;
  }

  #null(): null {
    this.#left -= 4;
    return null;
  }

  #object(value: object): Value {
    const at = this.#ancestors.indexOf(value);
    if (at >= 0) {
      const where = this.#path.slice(0, at).filter((name) => name !== '');
      return this.#text(where.length === 0 ? '[Circular]' : `[Circular ${where.join('.')}]`);
    }
    if (this.#ancestors.length > MAX_DEPTH) {
      this.cut = true;
      return this.#text(`[${classOf(value) ?? 'Object'}]`);
    }
    this.#ancestors.push(value);
    try {
      return this.#content(value);
    } catch (error) {
      return this.#text(`[Threw ${describeThrown(error)}]`);
    } finally {
      this.#ancestors.pop();
    }
  }

  #content(value: object): Value {
    if (Array.isArray(value)) return this.#list(value, value.length);
    return isPlain(value) || hasFields(value) ? this.#plain(value) : this.#builtIn(value);
  }

  #builtIn(value: object): Value {
    if (isError(value)) return this.#error(value);
    if (isDate(value)) return this.#text(dateText(value));
    if (isRegExp(value)) return this.#text(RegExp.prototype.toString.call(value));
    if (isMap(value)) return this.#map(value);
    if (isSet(value)) return this.#list(firstOf(Set.prototype.values.call(value)), value.size);
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if (isAnyArrayBuffer(value)) return this.#bytes(new Uint8Array(value));
    if (value instanceof URLSearchParams) return this.#text(this.#query(value));
    return this.#text(`[${classOf(value) ?? 'Object'}]`);
  }

  #plain(value: object): Value {
    const toJSON: unknown = Reflect.get(value, 'toJSON');
    if (typeof toJSON === 'function') {
      const given: unknown = Reflect.apply(toJSON, value, [this.#path.at(-1)]);
      if (given !== value) return this.#inside('toJSON()', given);
    }
    const names = Object.keys(value);
    const className = names.length === 0 ? classOf(value) : undefined;
    return className === undefined ? this.#fields(value, names) : this.#text(`[${className}]`);
  }

  /** Short fields are built first, so that one large field does not use up the room. Their order stays. */
  #fields(object: object, names: readonly string[] = Object.keys(object)): Fields {
    const fields: Fields = {};
    const hides = hiddenIn(object, names, this.#redaction);
    const later: [name: string, value: unknown][] = [];
    this.#left -= 2;
    for (const [position, name] of names.entries()) {
      if (position === MAX_ENTRIES || this.#left <= 0) {
        this.#leaveOut(fields, names.length - position);
        break;
      }
      const given = this.#read(object, name);
      if (given === undefined) continue;
      const value = hides(name) ? REDACTED : given;
      const kept = this.#name(name);
      if (isLarge(value)) later.push([kept, value]);
      setField(fields, kept, isLarge(value) ? null : (this.build(value) ?? null));
    }
    for (const [position, [name, value]] of later.entries()) {
      if (this.#left <= 0) {
        for (const [left] of later.slice(position)) delete fields[left];
        this.#leaveOut(fields, later.length - position);
        break;
      }
      const keptBack = this.#fair && position < later.length - 1 ? this.#left >>> 1 : 0;
      this.#left -= keptBack;
      setField(fields, name, this.#inside(name, value));
      this.#left += keptBack;
    }
    return fields;
  }

  #read(object: object, name: string | number): unknown {
    return readField(object, name, () => {
      this.cut = true;
    });
  }

  #leaveOut(fields: Fields, count: number): void {
    const before = typeof fields[REST] === 'string' ? Number.parseInt(fields[REST], 10) || 0 : 0;
    setField(fields, REST, `${before + count} more`);
    this.#left -= REMARK_BYTES;
    this.cut = true;
  }

  #name(name: string): string {
    const { text, cut } = cutText(name, MAX_NAME_BYTES);
    if (cut) this.cut = true;
    this.#left -= fit(text, MAX_NAME_BYTES).bytes + 4;
    return text;
  }

  #inside(name: string, value: unknown): Value {
    this.#path.push(name);
    const built = this.build(value);
    this.#path.pop();
    return built ?? this.#null();
  }

  /** Handles arrays, including name-value lists such as Node's raw headers, and lists of pairs. */
  #list(list: ArrayLike<unknown>, length: number): Value {
    const values: Value[] = [];
    let before: unknown;
    this.#left -= 2;
    for (let position = 0; position < length; position++) {
      if (position === MAX_ENTRIES || this.#left <= 0) {
        values.push(`${REST} ${length - position} more`);
        this.#left -= REMARK_BYTES;
        this.cut = true;
        break;
      }
      this.#left -= 1;
      const value = this.#read(list, position);
      const hidden = isHiddenEntry(position, before, this.#redaction);
      const built = this.#inside(String(position), hidden ? REDACTED : value);
      values.push(built);
      before = built;
    }
    return values;
  }

  /** An object when every key is a simple value, otherwise pairs. */
  #map(map: Map<unknown, unknown>): Value {
    const pairs = firstOf(Map.prototype.entries.call(map));
    const named = new Map(pairs.map(([key, value]) => [keyText(key), value]));
    if (named.has(undefined) || named.size < pairs.length) return this.#list(pairs, map.size);
    const entries: Record<string, unknown> = {};
    for (const [name, value] of named) setField(entries, name!, value);
    const fields = this.#fields(entries);
    if (map.size > pairs.length) this.#leaveOut(fields, map.size - pairs.length);
    return fields;
  }

  #query(parameters: URLSearchParams): string {
    const entries = [...URLSearchParams.prototype.entries.call(parameters)];
    const shown = entries.map(([name, value]) => [name, this.#redaction.hides(name) ? REDACTED : value]);
    return String(new URLSearchParams(shown));
  }

  #view(view: ArrayBufferView): Value {
    if (isUint8Array(view) || view instanceof DataView) {
      return this.#bytes(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    }
    const numbers = view as unknown as ArrayLike<number | bigint>;
    return this.#list(numbers, numbers.length);
  }

  /** As base64, as in OpenTelemetry's JSON. */
  #bytes(bytes: Uint8Array): Value {
    const room = Math.max(0, Math.floor(((this.#left - 64) * 3) / 4));
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, room)).toString('base64');
    if (bytes.length <= room) return this.#text(base64);
    this.cut = true;
    return this.#text(`${base64}… [cut from ${bytes.length} bytes]`);
  }

  #error(error: Error): Value {
    const { type, message, stacktrace, details } = errorFields(error);
    const fields = this.#fields({ ...details, type, message });
    if (stacktrace !== undefined && this.#left > 0) {
      this.#name('stacktrace');
      setField(fields, 'stacktrace', this.#textWithin(stacktrace, Math.min(this.#left, MAX_INNER_STACK_BYTES)));
    }
    return fields;
  }
}

/** Whether the object has no class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const BUILT_IN: readonly ((value: object) => boolean)[] = [
  Array.isArray,
  isError,
  isDate,
  isRegExp,
  isBoxedPrimitive,
  isMap,
  isSet,
  ArrayBuffer.isView,
  isAnyArrayBuffer,
  isPromise,
  isWeakMap,
  isWeakSet,
  (value) => value instanceof WeakRef || value instanceof URLSearchParams,
];

/** Whether the object consists of its own fields. */
export function hasFields(value: object): boolean {
  return !BUILT_IN.some((is) => is(value));
}

/** Like JSON.parse: a name such as `__proto__` becomes an ordinary field. */
export function setField<T>(fields: Record<string, T>, name: string, value: T): void {
  if (name === '__proto__') {
    Object.defineProperty(fields, name, { value, configurable: true, enumerable: true, writable: true });
  } else fields[name] = value;
}

/** Reads a field; calls `skipped` and returns `undefined` when a getter throws. */
export function readField(object: object, name: string | number, skipped: () => void): unknown {
  try {
    return Reflect.get(object, name);
  } catch {
    skipped();
    return undefined;
  }
}

/** Whether the value may need much of the room. */
export function isLarge(value: unknown): boolean {
  if (typeof value === 'string') return value.length > SHORT;
  return typeof value === 'object' && value !== null;
}

function dateText(date: Date): string {
  const epochMs = Date.prototype.getTime.call(date);
  return Number.isNaN(epochMs) ? 'Invalid Date' : new Date(epochMs).toISOString();
}

function keyText(key: unknown): string | undefined {
  return (typeof key === 'object' && key !== null) || typeof key === 'function' ? undefined : String(key);
}

function firstOf<T>(values: Iterable<T>): T[] {
  const first: T[] = [];
  for (const value of values) {
    if (first.push(value) === MAX_ENTRIES) break;
  }
  return first;
}

/** The name of an application's class; `undefined` for plain objects. */
function classOf(value: object): string | undefined {
  if (Array.isArray(value)) return `Array of ${value.length}`;
  if (isPlain(value)) return undefined;
  const made: unknown = Reflect.get(value, 'constructor');
  return typeof made === 'function' ? nameOf(made) : undefined;
}

function nameOf(named: object): string | undefined {
  const name = fieldOf(named, 'name');
  return typeof name === 'string' && name !== '' ? name.slice(0, 100) : undefined;
}
