import { canonicalAddress } from '../wire/net/addresses.ts';

/** Longest header element that is read. */
const MAX_ELEMENT_LENGTH = 512;

/** RFC 7239, section 4, also accepting unquoted colons and brackets, which some proxies send. */
const PAIR = /^\s*([!#$%&'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;=]+))\s*$/;

/** An address, or a bracketed one, with an optional port (RFC 7239, section 6). */
const NODE = /^(?:\[([0-9a-f:.%]+)\]|([0-9.]+))(?::(?:\d{1,5}|_[\w.-]+))?$/i;

/**
 * The addresses in `X-Forwarded-For`, from last to first; `undefined` for an invalid one.
 * @param fields every value of the header, in order
 */
export function* forwardedFor(fields: readonly string[]): Generator<string | undefined> {
  for (const element of fromTheEnd(fields, ',')) yield nodeAddress(element.trim());
}

/** The addresses in `Forwarded` (RFC 7239), from last to first; `undefined` for a hidden or malformed one. */
export function* forwardedHops(fields: readonly string[]): Generator<string | undefined> {
  for (const element of fromTheEnd(fields, ',')) {
    const pairs = [...fromTheEnd([element], ';')].filter((pair) => pair.trim() !== '').map((pair) => PAIR.exec(pair));
    const named = pairs.filter((pair) => pair?.[1]?.toLowerCase() === 'for');
    const [node] = named;
    const readable = named.length === 1 && !pairs.includes(null);
    yield readable && node ? nodeAddress(node[2]?.replace(/\\(.)/g, '$1') ?? node[3] ?? '') : undefined;
  }
}

/** `unknown` and obfuscated names (`_hidden`) are not addresses. */
function nodeAddress(node: string): string | undefined {
  const [, bracketed, plain] = NODE.exec(node) ?? [];
  return canonicalAddress(bracketed ?? plain ?? node);
}

/**
 * Splits at separators outside quotes, from the end, so that a client's unclosed quote cannot swallow what a proxy
 * appended.
 */
function* fromTheEnd(fields: readonly string[], separator: string): Generator<string> {
  for (const field of fields.toReversed()) {
    let quoted = false;
    let end = field.length;
    for (let index = end - 1; index >= -1; index -= 1) {
      if (field[index] === '"' && field[index - 1] !== '\\') quoted = !quoted;
      if (index !== -1 && (quoted || field[index] !== separator)) {
        if (end - index > MAX_ELEMENT_LENGTH) return;
        continue;
      }
      yield field.slice(index + 1, end);
      end = index;
    }
  }
}
