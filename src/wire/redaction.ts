import { maskCredentials } from './credentials.ts';
import { detached } from './detached.ts';
import { patternMatcher } from './names.ts';

/** Names and values that must not leave the process. */
export interface Redaction {
  hides(name: string): boolean;
  /** Masks credentials in a text that are recognized by their form. */
  mask(text: string): string;
}

export const NO_REDACTION: Redaction = { hides: () => false, mask: (text) => text };

/** As `password`, `dbPassword`, `Set-Cookie`, `x-api-key`, `private_key`. Not `tokens`: language models count theirs under such names. */
const ENDINGS = [
  ...['password', 'passwords', 'passwd', 'pwd', 'passphrase', 'secret', 'secrets', 'token', 'jwt', 'authorization'],
  ...['cookie', 'cookies', 'apikey', 'apikeys', 'privatekey', 'secretkey', 'secretaccesskey', 'secretkeybase'],
  ...['credential', 'credentials', 'connectionstring', 'dbpass', 'userpass'],
];
/** `pass` as the last word: `pass`, `DB_PASS` and `smtpPass`, but not `bypass`. */
const LAST_WORD_PASS = /(?:^|[^a-zA-Z])(?:pass|Pass|PASS)$|[a-z0-9]Pass$/;
/** The last part of `user[password]` and of `Symbol(password)`. */
const IN_BRACKETS = /[[(]([^[\]()]+)[\])]+$/;
/** The header of Node's outgoing HTTP messages, as text. */
const RAW_HEADER = '_header';
/** The part of such a message that is not sent yet, the header included. */
const RAW_OUTPUT = 'outputData';
const SEPARATORS = /[-_.:\s'"]/g;
/** Length of the name's end that is compared with these. */
const LOOKED_AT = 64;

/** Cached names, and the longest name that is cached. */
const MAX_KEPT = 2000;
const MAX_KEPT_LENGTH = 100;

/** @param patterns further names, or with `*` for any characters, ignoring case. `false` disables redaction */
export function createRedaction(patterns: readonly string[] | false): Redaction {
  if (patterns === false) return NO_REDACTION;
  const exact = new Set([RAW_HEADER]);
  const wild: ((name: string) => boolean)[] = [];
  for (const pattern of patterns.map((each) => each.toLowerCase())) {
    if (pattern.includes('*')) wild.push(patternMatcher(pattern));
    else exact.add(pattern);
  }
  const kept = new Map<string, boolean>();

  function decide(name: string): boolean {
    const lower = name.toLowerCase();
    const end = name.slice(-LOOKED_AT);
    const letters = end.toLowerCase().replaceAll(SEPARATORS, '');
    const inner = IN_BRACKETS.exec(end)?.[1];
    return (
      ENDINGS.some((ending) => letters.endsWith(ending)) ||
      LAST_WORD_PASS.test(end) ||
      exact.has(lower) ||
      wild.some((matches) => matches(lower)) ||
      (inner !== undefined && decide(inner))
    );
  }

  function hides(name: string): boolean {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const decided = decide(name);
    if (name.length <= MAX_KEPT_LENGTH) {
      if (kept.size >= MAX_KEPT) kept.clear();
      kept.set(detached(name), decided);
    }
    return decided;
  }

  return { hides, mask: maskCredentials };
}

/** The `value` of `{ name: 'authorization', value }`, too, and the unsent text of Node's outgoing messages, whose name is a usual one. */
export function hiddenIn(object: object, names: readonly string[], redaction: Redaction): Redaction['hides'] {
  const hidden = new Set<string>();
  if (names.includes(RAW_HEADER) && redaction.hides(RAW_HEADER)) hidden.add(RAW_OUTPUT);
  if (names.includes('value') && hidesValue(object, redaction)) hidden.add('value');
  return hidden.size === 0 ? redaction.hides : (name) => hidden.has(name) || redaction.hides(name);
}

/** Whether `value` is hidden in an object whose `name` or `key` says what it is. */
export function hidesValue(object: object, { hides }: Redaction): boolean {
  try {
    const { name, key } = object as { readonly name?: unknown; readonly key?: unknown };
    return (typeof name === 'string' && hides(name)) || (typeof key === 'string' && hides(key));
  } catch {
    return true;
  }
}

/** Whether an entry of a list is hidden because the one before names it, as in Node's raw headers and in pairs. */
export function isHiddenEntry(position: number, before: unknown, redaction: Redaction): boolean {
  return position % 2 === 1 && hidesNext(before, redaction);
}

/** A path or an assignment, such as `/token` and `type=jwt`: a value, although it ends like a hidden name. */
const IS_VALUE = /\/|=./;

/** Whether a value in a list, or among arguments, is a hidden name of the value behind it. */
export function hidesNext(value: unknown, { hides }: Redaction): boolean {
  return typeof value === 'string' && !IS_VALUE.test(value) && hides(value);
}

/** Prefixes of the names of headers and parameters. */
const PREFIX = /^(?:http\.(?:request|response)\.header|url\.query)\./;
/** A parameter with its value, in a URL, a query or a form. */
const PARAMETER = /(^|[?&;])([^=&?;#\s]{1,256})=([^&;#\s]+)/g;

/** Whether an attribute of work is hidden, also a header or a parameter whose own name is. */
export function isHidden(name: string, { hides }: Redaction): boolean {
  return hides(name) || hides(name.replace(PREFIX, ''));
}

/** A value without credentials, and without hidden parameters: `url.query` and `http.target` of spans hold all of them. */
export function shown(value: string, { hides, mask }: Redaction): string {
  const masked = mask(value);
  if (!masked.includes('=')) return masked;
  return masked.replace(PARAMETER, (parameter, before: string, name: string) =>
    hides(decoded(name)) ? `${before}${name}=[redacted]` : parameter,
  );
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
