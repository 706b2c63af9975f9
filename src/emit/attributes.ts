import { isPromise } from 'node:util/types';
import type { AttributeFailure, Attributes } from '../gate/types.ts';
import { ATTR_ATTRIBUTES_ERROR, ATTR_CATEGORY_NAME } from '../semconv.ts';
import { describeThrown, isError } from './error-fields.ts';
import { buildRecordFields } from './record-fields.ts';
import { REDACTED, type Redacts } from './redaction.ts';
import { type Fields, hasFields, isPlain } from './value.ts';

/** What the attributes of a call became. */
export interface BuiltAttributes {
  /** Bounded plain data, made for this call alone, and under its own name the category. */
  readonly attributes: Fields;
  /** Only short strings, numbers and booleans under usual names, which every output takes as they are. */
  readonly simple: boolean;
  /** About as many as they take in a line. */
  readonly bytes: number;
  readonly failure?: AttributeFailure;
}

/** Where something stands that was passed in place of attributes: an error, and what has no fields. */
const ERROR_NAME = 'error';
const VALUE_NAME = 'value';
const ASYNCHRONOUS = 'the attribute function is asynchronous';

/**
 * Makes bounded plain data of whatever was given as attributes, once for all outputs. Never throws: what is hostile, or
 * too large, costs its own place and leaves the other attributes as they are.
 */
export function buildAttributes(
  category: string,
  given: Attributes | (() => Attributes) | undefined,
  redacts: Redacts = () => false,
): BuiltAttributes {
  try {
    if (typeof given !== 'function') return built(category, given, redacts);
    const made: unknown = given();
    if (!isThenable(made)) return built(category, made, redacts);
    // Nobody else has this promise, so its rejection, which would end the application, is ours to take. The `then` of a
    // lazy query must not be called: it would send the query.
    if (isPromise(made)) Promise.prototype.then.call(made, undefined, () => undefined);
    return failed(category, ASYNCHRONOUS, new TypeError(ASYNCHRONOUS));
  } catch (error) {
    const subject = typeof given === 'function' ? 'the attribute function' : 'the attributes';
    return failed(category, `${subject} threw ${describeThrown(error)}`, error);
  }
}

/** The attributes of a call whose message is an error: its stack trace and what else it says are among them. */
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
  return { attributes, simple: true, bytes: text.length, failure: { error } };
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function';
}

function built(category: string, given: unknown, redacts: Redacts): BuiltAttributes {
  const simple = simpleCopy(category, given, redacts);
  if (simple !== undefined) return simple;
  const { fields, bytes } = buildRecordFields(category, holderOf(given), redacts);
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

/** Longest string that is taken as it is. */
const SIMPLE_LENGTH = 1000;
/**
 * Characters that all names and strings may have together. JSON makes at most six bytes of one, so they stay far within
 * a record.
 */
const SIMPLE_ROOM = 8000;
/** Taken off that room for each attribute, so that there are not many. */
const SIMPLE_COST = 80;
/** About what a name takes beside its characters, with a number or a boolean. */
const NAME_COST = 8;
/** Beyond, a whole number is none to OpenTelemetry's exporters. */
const INT64 = 2 ** 63;

/**
 * The usual case: a few short strings, numbers and booleans. `undefined` where there is anything else. The copy comes
 * first, so that a getter runs once and what was looked at is what is kept. Walking its names also makes V8 list them,
 * which the SDK does next: benchmarks/emit.ts.
 */
function simpleCopy(category: string, given: unknown, redacts: Redacts): BuiltAttributes | undefined {
  if (given !== undefined && (given === null || typeof given !== 'object' || !isPlain(given))) return undefined;
  const copy = copyOf(category, given);
  if (copy === undefined) return undefined;
  let room = SIMPLE_ROOM;
  let bytes = 0;
  for (const name in copy) {
    let value = copy[name];
    if (value !== undefined && redacts(name) && name !== ATTR_CATEGORY_NAME) {
      value = REDACTED;
      copy[name] = value;
    }
    if (typeof value === 'string') {
      if (value.length > SIMPLE_LENGTH) return undefined;
      bytes += value.length;
    } else if (typeof value === 'number') {
      if (!(value < INT64 && value > -INT64)) return undefined;
    } else if (typeof value !== 'boolean') return undefined;
    bytes += name.length + NAME_COST;
    room -= SIMPLE_COST;
    if (bytes > room || name === '__proto__' || name === '') return undefined;
  }
  return { attributes: copy, simple: true, bytes };
}

/** `undefined` where a getter throws, which costs its own attribute alone. */
function copyOf(category: string, given: object | undefined): Fields | undefined {
  try {
    // Not by a computed name: with attributes of many shapes V8 takes three times as long for that.
    return { ...given, 'rdcp.category.name': category } satisfies { [ATTR_CATEGORY_NAME]: string };
  } catch {
    return undefined;
  }
}
