import { escapeUnprintable } from '../../printable.ts';

/** Shows characters that hide or turn text around as `\uXXXX`, and cuts what is longer than `most` characters. */
export function printable(value: string, most: number): { readonly text: string; readonly cut: boolean } {
  const cut = value.length > most;
  const text = escapeUnprintable(cut ? value.slice(0, most - 1) : value);
  return { text: cut ? `${text}…` : text, cut };
}
