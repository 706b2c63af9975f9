import { isPromise } from 'node:util/types';
import type { AttributeFailure, Attributes } from '../../gate/types.ts';
import { ATTR_ATTRIBUTES_ERROR, ATTR_CATEGORY_NAME } from '../../otel/semconv.ts';
import { REDACTED } from '../../wire/credentials.ts';
import type { Fields } from '../../wire/debug-record.ts';
import { hidesValue, NO_REDACTION, type Redaction } from '../../wire/redaction.ts';
import { describeThrown, isError } from '../../wire/thrown.ts';
import { buildRecordFields } from './record-fields.ts';
import { bytesOf } from './text.ts';
import { hasFields, isPlain } from './value.ts';

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
