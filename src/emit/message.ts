import { errorFields, isError } from './error-fields.ts';
import { MAX_VALUE_BYTES } from './limits.ts';
import type { Redacts } from './redaction.ts';
import { cutText, MAX_UNIT_BYTES } from './text.ts';
import { ValueBuilder } from './value.ts';

/** A message up to this length always fits, whatever its characters are. */
const SHORT_LENGTH = Math.floor((MAX_VALUE_BYTES - 2) / MAX_UNIT_BYTES);

/** The message as bounded text, whatever an untyped caller has passed. Never throws. */
export function messageText(given: unknown, redacts: Redacts): string {
  if (typeof given === 'string' && given.length <= SHORT_LENGTH) return given;
  return cutText(textOf(given, redacts), MAX_VALUE_BYTES - 2).text;
}

function textOf(given: unknown, redacts: Redacts): string {
  if (typeof given === 'string') return given;
  if (isError(given)) {
    const { type, message } = errorFields(given);
    return message === '' ? type : message;
  }
  const value = new ValueBuilder(MAX_VALUE_BYTES, {}, 'message', redacts).build(given);
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(given));
}
