import type { CallAttributes } from '../../gate/types.ts';
import { ATTR_TENANT_ID } from '../../otel/semconv.ts';
import type { Redaction } from '../../wire/redaction.ts';
import { isError, messageOf, typeOfThrown } from '../../wire/thrown.ts';
import { buildAttributes, withError } from './attributes.ts';
import type { Call } from './record.ts';
import { bytesOf, cutText, MAX_UNIT_BYTES, MAX_VALUE_BYTES } from './text.ts';
import { ValueBuilder } from './value.ts';

/** A message up to this length always fits, whatever its characters are. */
const SHORT_LENGTH = Math.floor((MAX_VALUE_BYTES - 2) / MAX_UNIT_BYTES);

/** Builds what leaves the process of a call: bounded and redacted. */
export class CallBuilder {
  readonly #redaction: Redaction;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  /** @param at when the call was made, in milliseconds since the epoch. @default now */
  build(category: string, message: string, given: CallAttributes, tenantId: string | undefined, at?: number): Call {
    const isText = typeof message === 'string';
    const built = buildAttributes(category, isText ? given : withError(message, given), this.#redaction);
    const text = messageText(message, this.#redaction);
    const { attributes, simple, failure } = built;
    const tenantBytes = tenantId === undefined ? 0 : bytesOf({ [ATTR_TENANT_ID]: tenantId });
    const bytes = built.bytes + text.length + tenantBytes;
    return { severity: 'DEBUG', message: text, attributes, simple, tenantId, bytes, at, failure };
  }
}

/** The message as bounded text, whatever an untyped caller has passed. Never throws. */
export function messageText(given: unknown, redaction: Redaction): string {
  if (typeof given === 'string' && given.length <= SHORT_LENGTH) return redaction.mask(given);
  return cutText(textOf(given, redaction), MAX_VALUE_BYTES - 2, redaction.mask).text;
}

function textOf(given: unknown, redaction: Redaction): string {
  if (typeof given === 'string') return given;
  if (isError(given)) return messageOf(given) || typeOfThrown(given);
  const value = new ValueBuilder(MAX_VALUE_BYTES, {}, 'message', redaction).build(given);
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(given));
}
