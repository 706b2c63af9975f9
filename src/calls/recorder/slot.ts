import type { Context } from '@opentelemetry/api';
import type { AttributeFailure, CategoryDescriptor, Given } from '../../gate/types.ts';
import type { Work } from '../../gate/work.ts';
import type { Fields } from '../../wire/debug-record.ts';
import type { CallBuilder } from '../emit/built-call.ts';
import type { Call } from '../emit/record.ts';
import { isPlain } from '../emit/value.ts';

/** Longest text that is kept as it is. */
const MAX_PLAIN_LENGTH = 1000;
const MAX_PLAIN_ATTRIBUTES = 64;
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

/**
 * Takes over what was given to a call before the application changes it. A few short values, which is the usual case, are copied as
 * they are; the rest is bounded and redacted at once. Never throws.
 */
export function takeOver(slot: Slot, given: Given, builder: CallBuilder): AttributeFailure | undefined {
  const { message } = slot;
  let attributes: unknown = given;
  if (typeof given === 'function') {
    try {
      attributes = given();
    } catch (error) {
      return build(slot, fails(error), builder);
    }
  }
  if (typeof message === 'string' && message.length <= MAX_PLAIN_LENGTH && copyPlain(slot, attributes))
    return undefined;
  return build(slot, typeof given === 'function' ? ((() => attributes) as Given) : given, builder);
}

function fails(error: unknown): () => never {
  return () => {
    throw error;
  };
}

/** @returns false for what is not plain, or throws */
function copyPlain(slot: Slot, given: unknown): boolean {
  let bytes = slot.message.length;
  try {
    if (given !== undefined) {
      if (typeof given !== 'object' || given === null || !isPlain(given)) return false;
      const attributes: Fields = { ...given };
      let room = MAX_PLAIN_ATTRIBUTES;
      for (const name in attributes) {
        const value = attributes[name];
        bytes += name.length + 8;
        if (typeof value === 'string') {
          if (value.length > MAX_PLAIN_LENGTH) return false;
          bytes += value.length;
        } else if (typeof value === 'number') {
          if (!(value < INT64 && value > -INT64)) return false;
        } else if (typeof value !== 'boolean') return false;
        room -= 1;
        if (room < 0 || name.length > MAX_PLAIN_LENGTH) return false;
      }
      slot.attributes = attributes;
    }
    slot.bytes = bytes;
    return true;
  } catch {
    return false;
  }
}

function build(slot: Slot, given: Given, builder: CallBuilder): AttributeFailure | undefined {
  const { call, failure } = builder.build(slot.category.name, slot.message, given, slot.tenantId);
  const { message, attributes, bytes } = call;
  Object.assign(slot, { message, attributes, bytes, plain: false });
  return failure;
}

/** The call as it leaves the process. */
export function callOf(
  { message, attributes, plain, bytes, category, at, tenantId }: Content & Pick<Slot, 'category' | 'at' | 'tenantId'>,
  builder: CallBuilder,
): Call {
  if (plain) return builder.build(category.name, message, attributes, tenantId, at).call;
  return { severity: 'DEBUG', message, attributes: attributes ?? {}, simple: false, tenantId, bytes, at };
}
