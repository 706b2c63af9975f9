import type { Context } from '@opentelemetry/api';
import type { AttributeFailure, CallAttributes, CategoryDescriptor, Described, OwnLine } from '../../gate/types.ts';
import type { Work } from '../../gate/work.ts';
import type { Fields } from '../../wire/debug-record.ts';
import type { CallBuilder } from '../emit/built-call.ts';
import { UNFORMATTABLE } from '../emit/formatting.ts';
import type { Call } from '../emit/record.ts';

/** Approximate size of what is kept as it is. */
const MAX_BYTES = 4096;
/** Approximate size of a value beside its text. */
const VALUE_BYTES = 8;
/** OpenTelemetry's exporters reject larger integers. */
const INT64 = 2 ** 63;

/** What was given to a recorded call. */
interface Content {
  message: string;
  attributes: Fields | undefined;
  /** Whether both are as the application gave them, and are redacted when the line leaves. The others are already. */
  plain: boolean;
  /** Approximate size of both. */
  bytes: number;
  /** In place of message and attributes, until the line leaves. */
  late?: LateLine | undefined;
}

/** A copy of what a logger was called with, and what makes the line of it. */
interface LateLine extends Pick<OwnLine, 'describe'> {
  readonly given: readonly unknown[];
  readonly bytes: number;
}

/** A recorded call of work that has not ended. */
export interface Slot extends Content {
  readonly category: CategoryDescriptor;
  readonly level: number;
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** Among the calls of this process. */
  readonly order: number;
  readonly tenantId: string | undefined;
  readonly work: Work;
  readonly active: Context;
  /** Whether it was written when it was made. */
  readonly isWritten: boolean;
  /** The outputs that it was written to since. */
  writtenTo: readonly unknown[];
  /** Whether it is among what is kept of finished work. */
  isKept: boolean;
}

type SlotContent = Content & Pick<Slot, 'category' | 'tenantId'>;

/**
 * Takes over what was given to a call before the application changes it. Plain data, which is the usual case, is copied; anything else is
 * bounded and redacted at once. Never throws.
 */
export function takeOver(slot: SlotContent, given: CallAttributes, builder: CallBuilder): AttributeFailure | undefined {
  let attributes: unknown = given;
  try {
    if (typeof given === 'function') attributes = given();
  } catch (error) {
    return build(slot, fails(error), builder);
  }
  try {
    if (typeof slot.message !== 'string' || slot.message.length > MAX_BYTES) throw REFUSED;
    const room = { left: MAX_BYTES - slot.message.length };
    if (attributes !== undefined) slot.attributes = copyOf(attributes, room) as Fields;
    slot.bytes = MAX_BYTES - room.left;
    return undefined;
  } catch {
    return build(slot, typeof given === 'function' ? ((() => attributes) as CallAttributes) : given, builder);
  }
}

function fails(error: unknown): () => never {
  return () => {
    throw error;
  };
}

function build(slot: SlotContent, given: CallAttributes, builder: CallBuilder): AttributeFailure | undefined {
  const call = builder.build(slot.category.name, slot.message, given, slot.tenantId);
  const { message, attributes, bytes, failure } = call;
  Object.assign(slot, { message, attributes, bytes, plain: false });
  return failure;
}

/**
 * Copies what a logger was called with, before the application changes it.
 * @returns `undefined` for a line that is described at once: it depends on the moment, or on objects with a class, or is large
 */
export function lateLine({ isTimeless, given = [], describe }: OwnLine): LateLine | undefined {
  if (isTimeless !== true) return undefined;
  try {
    const room = { left: MAX_BYTES };
    return { given: given.map((each) => copyOf(each, room)), bytes: MAX_BYTES - room.left, describe };
  } catch {
    return undefined;
  }
}

/** Copies the texts of a call. They may be slices, which would keep the whole texts in memory that they are of. */
export function detach(slot: Slot): void {
  const { message, attributes, late } = slot;
  if (late === undefined) Object.assign(slot, structuredClone({ message, attributes }));
  else slot.late = { ...late, given: structuredClone(late.given) };
}

/** Thrown for a value that is large, or whose copy might be shown in another way. */
const REFUSED = new Error('no plain data');

interface Room {
  /** Of {@link MAX_BYTES}. */
  left: number;
}

/** Copies what JSON keeps as it is. @throws {@link REFUSED}, or what a getter throws */
function copyOf(value: unknown, room: Room): unknown {
  if (typeof value === 'object' && value !== null) return copyOfObject(value, room);
  room.left -= sizeOf(value);
  if (room.left < 0) throw REFUSED;
  return value;
}

function copyOfObject(value: object, room: Room): object {
  room.left -= VALUE_BYTES;
  if (Object.getPrototypeOf(value) !== Object.prototype) return copyOfList(value, room);
  const copy: Record<string, unknown> = { ...value };
  for (const name in copy) {
    const given = copy[name];
    room.left -= name.length;
    if (typeof given === 'object' && given !== null) copy[name] = copyOfObject(given, room);
    else room.left -= sizeOf(given);
    if (room.left < 0 || name === '__proto__') throw REFUSED;
  }
  return copy;
}

function copyOfList(value: object, room: Room): object {
  // Others have a class, holes, or fields beside their entries.
  const isList = Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype;
  if (!isList || value.length * VALUE_BYTES > room.left || Object.keys(value).length !== value.length) throw REFUSED;
  return value.map((each) => copyOf(each, room));
}

/** The approximate size of a value that is no object. @throws {@link REFUSED} */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return VALUE_BYTES + value.length;
  if (typeof value === 'number' && value < INT64 && value > -INT64) return VALUE_BYTES;
  if (typeof value === 'boolean' || value === null) return VALUE_BYTES;
  throw REFUSED;
}

/** Makes the line of a call, if it is described late. */
export function settle(slot: Content & Pick<Slot, 'category' | 'tenantId'>, builder: CallBuilder): void {
  const { late } = slot;
  if (late === undefined) return;
  const { bytes } = slot;
  const { message, attributes } = describeLate(late);
  Object.assign(slot, { message, late: undefined });
  takeOver(slot, attributes, builder);
  // As the recorder has counted it.
  slot.bytes = bytes;
}

function describeLate({ describe, given }: LateLine): Described {
  try {
    return describe(given) ?? { message: UNFORMATTABLE };
  } catch {
    return { message: UNFORMATTABLE };
  }
}

/** The call as it leaves the process. */
export function callOf(slot: Content & Pick<Slot, 'category' | 'at' | 'tenantId'>, builder: CallBuilder): Call {
  settle(slot, builder);
  const { message, attributes, plain, bytes, category, at, tenantId } = slot;
  if (plain) return builder.build(category.name, message, attributes, tenantId, at);
  return { severity: 'DEBUG', message, attributes: attributes ?? {}, simple: false, tenantId, bytes, at };
}
