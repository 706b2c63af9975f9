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
export interface Content {
  message: string;
  attributes: Fields | undefined;
  /** Whether both are as the application gave them, and are redacted when the line leaves. The others are already. */
  readonly plain: boolean;
  /** Approximate size of both. */
  readonly bytes: number;
  readonly failure?: AttributeFailure | undefined;
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

/** A call as it is made. */
export interface GivenCall {
  readonly category: string;
  readonly message: string;
  readonly given: Given;
  readonly tenantId: string | undefined;
}

/**
 * Takes over what was given to a call before the application changes it. A few short values, which is the usual case, are copied as
 * they are; the rest is bounded and redacted at once. Never throws.
 */
export function contentOf(call: GivenCall, builder: CallBuilder): Content {
  const { message, given } = call;
  let attributes: unknown = given;
  if (typeof given === 'function') {
    try {
      attributes = given();
    } catch (error) {
      return finished(call, fails(error), builder);
    }
  }
  const isShort = typeof message === 'string' && message.length <= MAX_PLAIN_LENGTH;
  if (isShort && attributes === undefined) return { message, attributes, plain: true, bytes: message.length };
  const plain = isShort ? plainCopy(message, attributes) : undefined;
  const again = typeof given === 'function' ? ((() => attributes) as Given) : given;
  return plain ?? finished(call, again, builder);
}

function fails(error: unknown): () => never {
  return () => {
    throw error;
  };
}

/** `undefined` for what is not plain, or throws. */
function plainCopy(message: string, given: unknown): Content | undefined {
  try {
    if (typeof given !== 'object' || given === null || !isPlain(given)) return undefined;
    const attributes: Fields = { ...given };
    let bytes = message.length;
    let room = MAX_PLAIN_ATTRIBUTES;
    for (const name in attributes) {
      const value = attributes[name];
      bytes += name.length + 8;
      if (typeof value === 'string') {
        if (value.length > MAX_PLAIN_LENGTH) return undefined;
        bytes += value.length;
      } else if (typeof value === 'number') {
        if (!(value < INT64 && value > -INT64)) return undefined;
      } else if (typeof value !== 'boolean') return undefined;
      room -= 1;
      if (room < 0 || name.length > MAX_PLAIN_LENGTH) return undefined;
    }
    return { message, attributes, plain: true, bytes };
  } catch {
    return undefined;
  }
}

function finished({ category, message, tenantId }: GivenCall, given: Given, builder: CallBuilder): Content {
  const { call, failure } = builder.build(category, message, given, tenantId);
  return { message: call.message, attributes: call.attributes, plain: false, bytes: call.bytes, failure };
}

/** The call as it leaves the process. */
export function callOf(
  { message, attributes, plain, bytes, category, at, tenantId }: Content & Pick<Slot, 'category' | 'at' | 'tenantId'>,
  builder: CallBuilder,
): Call {
  if (plain) return builder.build(category.name, message, attributes, tenantId, at).call;
  return { severity: 'DEBUG', message, attributes: attributes ?? {}, simple: false, tenantId, bytes, at };
}
