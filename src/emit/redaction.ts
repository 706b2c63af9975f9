/** Replaces a value that must not leave the process. */
export const REDACTED = '[redacted]';

/** Whether the value under a name must not leave the process. */
export type Redacts = (name: string) => boolean;

/**
 * Redacts names that end in one of these, ignoring case and separators: `password`, `dbPassword`, `Set-Cookie`,
 * `x-api-key`, `private_key`. `tokens` is missing, because language models count theirs under such names.
 */
const ENDINGS = [
  ...['password', 'passwords', 'passwd', 'passphrase', 'secret', 'secrets', 'token', 'authorization'],
  ...['cookie', 'cookies', 'apikey', 'apikeys', 'privatekey'],
];
/** The header of Node's outgoing HTTP messages, as text. */
const RAW_HEADER = '_header';
/** What such a message has not sent yet, the header included. */
const RAW_OUTPUT = 'outputData';
const SEPARATORS = /[-_.\s]/g;
/** Length of the name's end that is compared with these. */
const LOOKED_AT = 64;

/** Cached names, and the longest name that is cached. */
const MAX_KEPT = 2000;
const MAX_KEPT_LENGTH = 100;

/**
 * @param patterns names beside the usual ones: exact, or with `*` for any characters, ignoring case. `false` disables
 * redaction
 */
export function createRedaction(patterns: readonly string[] | false): Redacts {
  if (patterns === false) return () => false;
  const exact = new Set([RAW_HEADER]);
  const wild: string[][] = [];
  for (const pattern of patterns.map((each) => each.toLowerCase())) {
    if (pattern.includes('*')) wild.push(pattern.split('*'));
    else exact.add(pattern);
  }
  const kept = new Map<string, boolean>();

  function decide(name: string): boolean {
    const lower = name.toLowerCase();
    const end = lower.slice(-LOOKED_AT).replaceAll(SEPARATORS, '');
    return (
      ENDINGS.some((ending) => end.endsWith(ending)) || exact.has(lower) || wild.some((parts) => matches(lower, parts))
    );
  }

  return (name) => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const decided = decide(name);
    if (name.length <= MAX_KEPT_LENGTH) {
      if (kept.size >= MAX_KEPT) kept.clear();
      kept.set(name, decided);
    }
    return decided;
  };
}

/** Covers the unsent text of one of Node's outgoing HTTP messages as well; elsewhere its name is a usual one. */
export function redactsIn(names: readonly string[], redacts: Redacts): Redacts {
  if (!names.includes(RAW_HEADER) || !redacts(RAW_HEADER)) return redacts;
  return (name) => name === RAW_OUTPUT || redacts(name);
}

/** Whether the name starts with the first part, ends with the last, and contains the others between them, in order. */
function matches(name: string, parts: readonly string[]): boolean {
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
