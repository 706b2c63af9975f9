import {
  ATTR_ATTRIBUTES_TRUNCATED,
  ATTR_CATEGORY_NAME,
  ATTR_EXCEPTION_MESSAGE,
  ATTR_EXCEPTION_STACKTRACE,
  ATTR_EXCEPTION_TYPE,
} from '../../otel/semconv.ts';
import { REDACTED } from '../../wire/credentials.ts';
import type { Fields } from '../../wire/debug-record.ts';
import { hiddenIn, type Redaction } from '../../wire/redaction.ts';
import { errorFields, isError } from '../../wire/thrown.ts';
import { MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_RECORD_BYTES, MAX_VALUE_BYTES } from './limits.ts';
import { bytesOf, cutText } from './text.ts';
import { isLarge, MIN_VALUE_BYTES, readField, setField, ValueBuilder } from './value.ts';

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
export function buildRecordFields(
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
