import { detached } from '../../wire/detached.ts';
import type { Redaction } from '../../wire/redaction.ts';
import { isError, messageOf, typeOfThrown } from '../../wire/thrown.ts';
import { MAX_VALUE_BYTES } from './limits.ts';
import { cutText, MAX_UNIT_BYTES } from './text.ts';
import { ValueBuilder } from './value.ts';

/** A message up to this length always fits, whatever its characters are. */
const SHORT_LENGTH = Math.floor((MAX_VALUE_BYTES - 2) / MAX_UNIT_BYTES);

/** Messages found without credentials that are kept, and the longest one of them. */
const MAX_KEPT = 2000;
const MAX_KEPT_LENGTH = 100;

/** The texts of messages. Most messages are literals, which come again: they are searched for credentials once. */
export class MessageTexts {
  readonly #redaction: Redaction;
  readonly #clean = new Set<unknown>();

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  /** As {@link messageText}. */
  of(message: string): string {
    if (this.#clean.has(message)) return message;
    const text = messageText(message, this.#redaction);
    if (text === message && text.length <= MAX_KEPT_LENGTH) {
      if (this.#clean.size >= MAX_KEPT) this.#clean.clear();
      this.#clean.add(detached(text));
    }
    return text;
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
