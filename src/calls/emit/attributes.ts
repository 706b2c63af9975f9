import { isPromise } from 'node:util/types';
import type { AttributeFailure, Attributes } from '../../gate/types.ts';
import {
  ATTR_ATTRIBUTES_ERROR,
  ATTR_ATTRIBUTES_TRUNCATED,
  ATTR_CATEGORY_NAME,
  ATTR_EXCEPTION_MESSAGE,
  ATTR_EXCEPTION_STACKTRACE,
  ATTR_EXCEPTION_TYPE,
} from '../../otel/semconv.ts';
import { REDACTED } from '../../wire/credentials.ts';
import type { Fields } from '../../wire/debug-record.ts';
import { hiddenIn, hidesValue, NO_REDACTION, type Redaction } from '../../wire/redaction.ts';
import { describeThrown, errorFields, isError } from '../../wire/thrown.ts';
import { bytesOf, cutText, MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_RECORD_BYTES, MAX_VALUE_BYTES } from './text.ts';
import { hasFields, isLarge, isPlain, MIN_VALUE_BYTES, readField, setField, ValueBuilder } from './value.ts';

/** Attributes built from a call. */
export interface BuiltAttributes {
  /** Bounded plain data, created for this call, with the category under its own attribute name. */
  readonly attributes: Fields;
  /** Only short strings, numbers and booleans under usual names, which every output accepts unchanged. */
  readonly simple: boolean;
  /** Approximate size in a line. */
  readonly bytes: number;
  readonly failure?: AttributeFailure;
}

/** The attribute name for an error, or a value without fields, that was passed in place of attributes. */
const ERROR_NAME = 'error';
const VALUE_NAME = 'value';
const ASYNCHRONOUS = 'the attribute function is asynchronous';

/**
 * Converts whatever was given as attributes to bounded plain data, once for all outputs. Never throws. A hostile or
 * oversized value affects only its own attribute.
 */
export function buildAttributes(
  category: string,
  given: Attributes | (() => Attributes) | undefined,
  redaction: Redaction = NO_REDACTION,
): BuiltAttributes {
  try {
    if (typeof given !== 'function') return built(category, given, redaction);
    const made: unknown = given();
    if (!isThenable(made)) return built(category, made, redaction);
    // Only we hold this promise, so its rejection, which would end the application, is handled here. The `then` of a
    // lazy query must not be called: it would send the query.
    if (isPromise(made)) Promise.prototype.then.call(made, undefined, () => undefined);
    return failed(category, ASYNCHRONOUS, new TypeError(ASYNCHRONOUS));
  } catch (error) {
    const subject = typeof given === 'function' ? 'the attribute function' : 'the attributes';
    return failed(category, redaction.mask(`${subject} threw ${describeThrown(error)}`), error);
  }
}

/** The attributes of a call whose message is an error, with its stack trace and other fields. */
export function withError(
  message: unknown,
  given: Attributes | (() => Attributes) | undefined,
): Attributes | (() => Attributes) | undefined {
  if (!isError(message)) return given;
  if (given === undefined) return message;
  return () => ({ [ERROR_NAME]: message, ...holderOf(typeof given === 'function' ? given() : given) });
}

function failed(category: string, text: string, error: unknown): BuiltAttributes {
  const attributes = { [ATTR_CATEGORY_NAME]: category, [ATTR_ATTRIBUTES_ERROR]: text };
  return { attributes, simple: true, bytes: bytesOf(attributes), failure: { error } };
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function built(category: string, given: unknown, redaction: Redaction): BuiltAttributes {
  const simple = simpleCopy(category, given, redaction);
  if (simple !== undefined) return simple;
  const { fields, bytes } = buildRecordFields(category, holderOf(given), redaction);
  return { attributes: fields, simple: false, bytes };
}

/** The object whose fields are the attributes. */
function holderOf(given: unknown): object {
  if (given === undefined || given === null) return {};
  if (isError(given)) return { [ERROR_NAME]: given };
  if (typeof given !== 'object' || !hasFields(given)) return { [VALUE_NAME]: given };
  const toJSON: unknown = isPlain(given) ? undefined : Reflect.get(given, 'toJSON');
  if (typeof toJSON !== 'function') return given;
  const json: unknown = Reflect.apply(toJSON, given, ['']);
  return typeof json === 'object' && json !== null && hasFields(json) ? json : { [VALUE_NAME]: json };
}

/** Longest string that is copied unchanged. */
const SIMPLE_LENGTH = 1000;
/**
 * Characters of all names and strings together. JSON encodes a character in at most six bytes, so they stay well within
 * a record.
 */
const SIMPLE_ROOM = 8000;
/** Subtracted for each attribute, which bounds their number. */
const SIMPLE_COST = 80;
/** Approximate size of a name's syntax with a number or a boolean. */
const NAME_COST = 8;
/** OpenTelemetry's exporters reject larger integers. */
const INT64 = 2 ** 63;

/**
 * The usual case: a few short strings, numbers and booleans; otherwise `undefined`. Copying first runs each getter
 * once, so the checked value is the stored one. Enumerating the names also warms V8's cache for the SDK:
 * benchmarks/emit.ts.
 */
function simpleCopy(category: string, given: unknown, redaction: Redaction): BuiltAttributes | undefined {
  if (given !== undefined && (given === null || typeof given !== 'object' || !isPlain(given))) return undefined;
  const copy = copyOf(category, given);
  if (copy === undefined) return undefined;
  const { hides, mask } = redaction;
  let room = SIMPLE_ROOM - SIMPLE_COST;
  let bytes = ATTR_CATEGORY_NAME.length + category.length + NAME_COST;
  for (const name in copy) {
    if (name === ATTR_CATEGORY_NAME) continue;
    let value = copy[name];
    if (value !== undefined && (hides(name) || (name === 'value' && hidesValue(copy, redaction)))) {
      value = REDACTED;
      copy[name] = value;
    }
    if (typeof value === 'string') {
      if (value.length > SIMPLE_LENGTH) return undefined;
      const masked = mask(value);
      if (masked !== value) copy[name] = masked;
      bytes += masked.length;
    } else if (typeof value === 'number') {
      if (!(value < INT64 && value > -INT64)) return undefined;
    } else if (typeof value !== 'boolean') return undefined;
    bytes += name.length + NAME_COST;
    room -= SIMPLE_COST;
    if (bytes > room || name === '__proto__' || name === '') return undefined;
  }
  return { attributes: copy, simple: true, bytes };
}

/** `undefined` when a getter throws; the slow path then drops that attribute alone. */
function copyOf(category: string, given: object | undefined): Fields | undefined {
  try {
    // Not a computed name: with attributes of many shapes V8 would take three times as long.
    return { ...given, 'rdcp.category.name': category } satisfies { [ATTR_CATEGORY_NAME]: string };
  } catch {
    return undefined;
  }
}

/** Bytes of a record reserved for the message and our own fields. */
const REST_OF_RECORD_BYTES = MAX_VALUE_BYTES + 4096;
const ROOM = MAX_RECORD_BYTES - REST_OF_RECORD_BYTES;
/** Number of truncated attributes that are named, and the length of each name. */
const MAX_TRUNCATED = 20;
const MAX_TRUNCATED_NAME_BYTES = 100;

/** An error under one of these names is the record's exception, and so is a single error under any name. */
const SUBJECT_NAMES = ['error', 'err', 'exception'];
const EXCEPTION_NAMES = [ATTR_EXCEPTION_TYPE, ATTR_EXCEPTION_MESSAGE, ATTR_EXCEPTION_STACKTRACE];

interface Entry {
  readonly name: string;
  readonly value: unknown;
  /** The rest of an error whose type, message and stack trace are attributes of their own. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Converts the category and an object's fields to attributes: bounded plain data, with `rdcp.attributes.truncated`
 * listing what was cut. The category comes first, since an SDK with a low limit keeps the first attributes.
 */
function buildRecordFields(
  category: string,
  given: object,
  redaction: Redaction,
): { readonly fields: Fields; readonly bytes: number } {
  const record = new RecordBuilder(category, given, redaction);
  const names = Object.keys(given);
  const hides = hiddenIn(given, names, redaction);
  const read = names
    .slice(0, MAX_ATTRIBUTES)
    .filter((name) => name !== ATTR_CATEGORY_NAME)
    .map((name) => ({ name, value: readField(given, name, () => record.truncated.add(name)) }));
  const shown = (entry: Entry) => (hides(entry.name) ? { ...entry, value: REDACTED } : entry);
  const entries = withException(read.filter(isGiven).map(shown), names).filter(isGiven).map(shown);
  // Short values are built first, so that a few large ones do not use up the room. The order of the names stays.
  for (const entry of entries) {
    if (isLarge(entry.value)) record.hold(entry.name);
    else record.add(entry);
  }
  for (const entry of entries) if (isLarge(entry.value)) record.add(entry);
  return record.finish(names.length - MAX_ATTRIBUTES);
}

function isGiven({ value }: Entry): boolean {
  return value !== undefined;
}

/** Replaces the error that is the record's subject by the attributes of OpenTelemetry's exception conventions. */
function withException(entries: readonly Entry[], names: readonly string[]): readonly Entry[] {
  const subject = names.some((name) => EXCEPTION_NAMES.includes(name)) ? undefined : subjectOf(entries);
  if (subject === undefined) return entries;
  const { type, message, stacktrace, details } = errorFields(subject.value as Error);
  const exception: readonly Entry[] = [
    { name: ATTR_EXCEPTION_TYPE, value: type },
    { name: ATTR_EXCEPTION_MESSAGE, value: message },
    { name: ATTR_EXCEPTION_STACKTRACE, value: stacktrace },
    ...(Object.keys(details).length > 0 ? [{ ...subject, details }] : []),
  ];
  return entries.flatMap((entry) => (entry === subject ? exception : entry));
}

function subjectOf(entries: readonly Entry[]): Entry | undefined {
  const errors = entries.filter(({ value }) => isError(value));
  const named = SUBJECT_NAMES.map((name) => errors.find((entry) => entry.name === name));
  return named.find((entry) => entry !== undefined) ?? (errors.length === 1 ? errors[0] : undefined);
}

class RecordBuilder {
  /** Names of attributes that were cut or left out. */
  readonly truncated = new Set<string>();
  readonly #given: object;
  readonly #fields: Fields;
  readonly #redaction: Redaction;
  #left = ROOM;

  constructor(category: string, given: object, redaction: Redaction) {
    this.#redaction = redaction;
    this.#fields = { [ATTR_CATEGORY_NAME]: category };
    this.#left -= bytesOf(this.#fields);
    this.#given = given;
  }

  /** Reserves the position of a value that is built later. */
  hold(name: string): void {
    setField(this.#fields, this.#kept(name), null);
  }

  add(entry: Entry): void {
    const { name } = entry;
    const kept = this.#kept(name);
    this.#left -= Buffer.byteLength(kept) + 6;
    const room = Math.min(this.#left, MAX_VALUE_BYTES);
    if (room < MIN_VALUE_BYTES) {
      this.truncated.add(name);
      delete this.#fields[kept];
      return;
    }
    let { builder, value } = this.#build(entry, room, false);
    // Retried fairly when one large field has left no room for the others.
    if (builder.cut && typeof value === 'object') ({ builder, value } = this.#build(entry, room, true));
    this.#left -= builder.bytes;
    if (builder.cut) this.truncated.add(name);
    setField(this.#fields, kept, value);
  }

  #build({ name, value, details }: Entry, room: number, fair: boolean) {
    const builder = new ValueBuilder(room, this.#given, name, this.#redaction, fair);
    const built = details === undefined ? builder.build(value) : builder.buildDetails(value as Error, details);
    return { builder, value: built ?? null };
  }

  finish(more: number): { readonly fields: Fields; readonly bytes: number } {
    const bytes = ROOM - this.#left;
    if (more > 0) this.truncated.add(`${more} more`);
    if (this.truncated.size === 0) return { fields: this.#fields, bytes };
    const names = [...this.truncated].map((name) => cutText(name, MAX_TRUNCATED_NAME_BYTES).text);
    const listed = names.length > MAX_TRUNCATED ? names.slice(0, MAX_TRUNCATED).concat('…') : names;
    const own = { [ATTR_ATTRIBUTES_TRUNCATED]: listed };
    return { fields: { ...this.#fields, ...own }, bytes: bytes + bytesOf(own) };
  }

  #kept(name: string): string {
    const { text, cut } = cutText(name, MAX_NAME_BYTES);
    if (cut) this.truncated.add(name);
    return text;
  }
}
