/** V8 copies shorter slices. */
const MIN_SLICE_LENGTH = 13;

/**
 * Copies a text that is kept for longer than its call. It may be a slice, which would keep the whole text in memory that it is
 * of; there is no way to ask. V8 copies the characters to join them, in a fifth of the time that a Buffer takes.
 */
export function detached(text: string): string {
  return text.length < MIN_SLICE_LENGTH ? text : ` ${text}`.slice(1);
}
