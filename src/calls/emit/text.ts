import { detached } from '../../wire/detached.ts';

// Size limits of a debug call. Bytes are those of JSON in UTF-8, including quotes and escapes.

/** One attribute value, or a message. */
export const MAX_VALUE_BYTES = 8 * 1024;
/** A whole record: message, attributes and the fields that we add. */
export const MAX_RECORD_BYTES = 64 * 1024;
/** Attributes of one call. With our own they stay within the SDK's default limit of 128 per log record. */
export const MAX_ATTRIBUTES = 120;
/** Entries of one array, map, set or object below an attribute. */
export const MAX_ENTRIES = 1000;
/** Nesting depth of objects, including the attribute's own value. */
export const MAX_DEPTH = 8;
/** A name of an attribute, or of a field below one. */
export const MAX_NAME_BYTES = 256;

/** How much of the text fits into a number of JSON bytes, without splitting a character. */
export function fit(text: string, maxBytes: number): { readonly length: number; readonly bytes: number } {
  // Every UTF-16 unit takes at least a byte, so no more than this is scanned.
  const end = Math.min(text.length, Math.max(0, maxBytes));
  let bytes = 0;
  let at = 0;
  while (at < end) {
    const unit = text.charCodeAt(at);
    const pair = isHigh(unit) && isLow(text.charCodeAt(at + 1));
    const size = pair ? 4 : unitBytes(unit);
    if (bytes + size > maxBytes) break;
    bytes += size;
    at += pair ? 2 : 1;
  }
  return { length: at, bytes };
}

/**
 * The text, cut to fit if necessary, with a remark on its original length.
 * @param mask changes the text first. It gets the beginning of a long one, which is more than is kept
 */
export function cutText(
  given: string,
  maxBytes: number,
  mask: (text: string) => string = (text) => text,
): { readonly text: string; readonly cut: boolean } {
  const searched = Math.max(MAX_SEARCHED, maxBytes);
  const text = mask(given.length > searched ? given.slice(0, searched) : given);
  if (given.length <= searched) {
    if (text.length * MAX_UNIT_BYTES <= maxBytes) return { text, cut: false };
    if (fit(text, maxBytes).length === text.length) return { text, cut: false };
  }
  const remark = `… [cut from ${given.length} characters]`;
  const { length } = fit(text, maxBytes - Buffer.byteLength(remark));
  return { text: detached(text.slice(0, length)) + remark, cut: true };
}

/** Bytes of attributes of ours, as JSON. */
export function bytesOf(attributes: object): number {
  return Buffer.byteLength(JSON.stringify(attributes));
}

/** Characters of a long text in which credentials are searched: twice what is kept, so that none is cut before it is found. */
const MAX_SEARCHED = 2 * MAX_VALUE_BYTES;

/** The longest JSON form of one UTF-16 unit: `\u0000`. */
export const MAX_UNIT_BYTES = 6;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Backspace, tab, line feed, form feed, carriage return: `\b` and so on. */
const SHORT_ESCAPES = [0x08, 0x09, 0x0a, 0x0c, 0x0d];

function unitBytes(unit: number): number {
  if (unit >= 0x20 && unit < 0x80) return unit === QUOTE || unit === BACKSLASH ? 2 : 1;
  if (unit < 0x20) return SHORT_ESCAPES.includes(unit) ? 2 : MAX_UNIT_BYTES;
  if (unit < 0x800) return 2;
  return isHigh(unit) || isLow(unit) ? MAX_UNIT_BYTES : 3;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
