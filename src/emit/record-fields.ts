import {
  ATTR_ATTRIBUTES_TRUNCATED,
  ATTR_CATEGORY_NAME,
  ATTR_EXCEPTION_MESSAGE,
  ATTR_EXCEPTION_STACKTRACE,
  ATTR_EXCEPTION_TYPE,
} from '../semconv.ts';
import { errorFields, isError } from './error-fields.ts';
import { MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_RECORD_BYTES, MAX_VALUE_BYTES } from './limits.ts';
import { REDACTED, type Redacts, redactsIn } from './redaction.ts';
import { cutText } from './text.ts';
import { type Fields, isLarge, MIN_VALUE_BYTES, readField, setField, type Value, ValueBuilder } from './value.ts';

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
}

/**
 * Converts the category and an object's fields to attributes: bounded plain data, with `rdcp.attributes.truncated`
 * listing what was cut. The category comes first, since an SDK with a low limit keeps the first attributes.
 */
export function buildRecordFields(
  category: string,
  given: object,
  redacts: Redacts,
): { readonly fields: Fields; readonly bytes: number } {
  const record = new RecordBuilder(category, given, redacts);
  const names = Object.keys(given);
  const hides = redactsIn(names, redacts);
  const entries: Entry[] = names
    .slice(0, MAX_ATTRIBUTES)
    .filter((name) => name !== ATTR_CATEGORY_NAME)
    .map((name) => ({ name, value: readField(given, name, () => record.skip(name)) }))
    .filter(({ value }) => value !== undefined)
    .map((entry) => (hides(entry.name) ? { ...entry, value: REDACTED } : entry));
  const subject = names.some((name) => EXCEPTION_NAMES.includes(name)) ? undefined : subjectOf(entries);
  // Short values are built first, so that a few large ones do not use up the room. The order of the names stays.
  for (const entry of entries) {
    if (entry === subject) record.holdException(entry.name);
    else if (isLarge(entry.value)) record.hold(entry.name);
    else record.add(entry);
  }
  for (const entry of entries) {
    if (entry === subject) record.addException(entry.name, entry.value as Error);
    else if (isLarge(entry.value)) record.add(entry);
  }
  return record.finish(names.length - MAX_ATTRIBUTES);
}

function subjectOf(entries: readonly Entry[]): Entry | undefined {
  const errors = entries.filter(({ value }) => isError(value));
  const named = SUBJECT_NAMES.map((name) => errors.find((entry) => entry.name === name));
  return named.find((entry) => entry !== undefined) ?? (errors.length === 1 ? errors[0] : undefined);
}

class RecordBuilder {
  readonly #given: object;
  readonly #fields: Fields;
  readonly #redacts: Redacts;
  readonly #truncated = new Set<string>();
  #left = ROOM;

  constructor(category: string, given: object, redacts: Redacts) {
    this.#redacts = redacts;
    this.#fields = { [ATTR_CATEGORY_NAME]: category };
    this.#given = given;
  }

  /** Reserves the position of a value that is built later. */
  hold(name: string): void {
    setField(this.#fields, this.#kept(name), null);
  }

  holdException(name: string): void {
    for (const each of [...EXCEPTION_NAMES, name]) this.hold(each);
  }

  /** Called when a getter threw. */
  skip(name: string): void {
    this.#truncated.add(name);
  }

  add({ name, value }: Entry): void {
    this.#add(name, (builder) => builder.build(value));
  }

  /** Follows OpenTelemetry's exception conventions; other details stay under the error's own name. */
  addException(name: string, error: Error): void {
    const { type, message, stacktrace, details } = errorFields(error);
    this.add(this.#redacted({ name: ATTR_EXCEPTION_TYPE, value: type }));
    this.add(this.#redacted({ name: ATTR_EXCEPTION_MESSAGE, value: message }));
    this.add(this.#redacted({ name: ATTR_EXCEPTION_STACKTRACE, value: stacktrace }));
    const more = Object.keys(details).length > 0;
    this.#add(name, (builder) => (more ? builder.buildDetails(error, details) : undefined));
  }

  finish(more: number): { readonly fields: Fields; readonly bytes: number } {
    return { fields: this.#finished(more), bytes: ROOM - this.#left };
  }

  #finished(more: number): Fields {
    if (more > 0) this.#truncated.add(`${more} more`);
    if (this.#truncated.size === 0) return this.#fields;
    const names = [...this.#truncated].map((name) => cutText(name, MAX_TRUNCATED_NAME_BYTES).text);
    const told = names.length > MAX_TRUNCATED ? names.slice(0, MAX_TRUNCATED).concat('…') : names;
    return { ...this.#fields, [ATTR_ATTRIBUTES_TRUNCATED]: told };
  }

  #redacted(entry: Entry): Entry {
    return this.#redacts(entry.name) ? { ...entry, value: REDACTED } : entry;
  }

  #add(name: string, build: (builder: ValueBuilder) => Value | undefined): void {
    const kept = this.#kept(name);
    this.#left -= Buffer.byteLength(kept) + 6;
    const room = Math.min(this.#left, MAX_VALUE_BYTES);
    let builder = new ValueBuilder(room, this.#given, name, this.#redacts);
    let value = room < MIN_VALUE_BYTES ? undefined : build(builder);
    // Retried fairly when one large field has left no room for the others.
    if (builder.cut && typeof value === 'object') {
      builder = new ValueBuilder(room, this.#given, name, this.#redacts, true);
      value = build(builder);
    }
    this.#left -= builder.bytes;
    if (builder.cut || room < MIN_VALUE_BYTES) this.#truncated.add(name);
    if (value === undefined) delete this.#fields[kept];
    else setField(this.#fields, kept, value);
  }

  #kept(name: string): string {
    const { text, cut } = cutText(name, MAX_NAME_BYTES);
    if (cut) this.#truncated.add(name);
    return text;
  }
}
