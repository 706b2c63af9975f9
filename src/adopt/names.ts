import type { AdoptRule } from '../options/adopt.ts';
import { patternMatcher } from '../wire/names.ts';

const MAX_LENGTH = 64;
const HASH_LENGTH = 7;
const CATEGORY_NAME = /^(?:[A-Z][A-Z0-9_]{0,63}|X-[A-Z][A-Z0-9_-]{0,61})$/;

/** The category of a logger's name. */
interface Assigned {
  readonly name: string;
  readonly description: string | undefined;
}

/** A claim to a category name: a logger, or a group of them. */
interface Claim {
  readonly key: string;
  readonly rank: number;
}

/** Lower ranks get the name. Equal ones are ordered by the logger's name. */
const RANK = { group: 0, named: 1, exact: 2, derived: 3 } as const;

/**
 * Names of categories for loggers. Loggers whose names lead to the same category name get different ones: one keeps it, the
 * others get a hash of their own name. Which one keeps it depends on the names, not on which logger came first.
 */
export class CategoryNames {
  readonly #rules: readonly (AdoptRule & { readonly matches: (logger: string) => boolean })[];
  /** The owner of each name. */
  readonly #owners = new Map<string, Claim>();
  readonly #names = new Map<string, string>();
  readonly #moved: (key: string, name: string) => void;

  /** @param moved called when a logger must give its name to another one, with the logger's name and its new one */
  constructor(rules: readonly AdoptRule[], moved: (logger: string, name: string) => void) {
    this.#rules = rules.map((rule) => ({ ...rule, matches: matcherOf(rule.match) }));
    this.#moved = moved;
  }

  /**
   * Returns the category of a logger; `undefined` if a rule excludes it.
   * @param group its category, whatever the rules say
   */
  assign(logger: string, group?: string): Assigned | undefined {
    const rule: Partial<AdoptRule> | undefined = group === undefined ? this.#ruleOf(logger) : { group };
    if (rule?.exclude === true) return undefined;
    const description = rule?.description;
    if (rule?.group !== undefined) {
      return { name: this.#claim({ key: `group ${rule.group}`, rank: RANK.group }, rule.group), description };
    }
    const wish = rule?.name ?? categoryNameOf(logger);
    const rank = rule?.name !== undefined ? RANK.named : wish === logger ? RANK.exact : RANK.derived;
    return { name: this.#claim({ key: `logger ${logger}`, rank }, wish), description };
  }

  /** The category that a rule gives all loggers which it matches. */
  groupOf(logger: string): string | undefined {
    return this.#ruleOf(logger)?.group;
  }

  #ruleOf(logger: string): AdoptRule | undefined {
    return this.#rules.find(({ matches }) => matches(logger));
  }

  #claim(claim: Claim, wish: string): string {
    const known = this.#names.get(claim.key);
    if (known !== undefined) return known;
    const owner = this.#owners.get(wish);
    if (owner === undefined) return this.#give(claim, wish);
    if (!precedes(claim, owner)) return this.#give(claim, this.#hashed(wish, claim.key));
    this.#give(claim, wish);
    const next = this.#give(owner, this.#hashed(wish, owner.key));
    this.#moved(owner.key.slice(owner.key.indexOf(' ') + 1), next);
    return wish;
  }

  #give(claim: Claim, name: string): string {
    this.#owners.set(name, claim);
    this.#names.set(claim.key, name);
    return name;
  }

  #hashed(wish: string, key: string): string {
    for (let salt = ''; ; salt += '+') {
      const name = withHash(wish, key + salt);
      if (!this.#owners.has(name)) return name;
    }
  }
}

function precedes(one: Claim, other: Claim): boolean {
  return one.rank === other.rank ? one.key < other.key : one.rank < other.rank;
}

/** Longest name of a logger in bytes. */
const MAX_NAME_BYTES = 128;

/** Returns the name of a logger; one that is too long is cut and gets a hash. */
export function boundedName(logger: string): string {
  if (logger.length <= MAX_NAME_BYTES / 3 || Buffer.byteLength(logger) <= MAX_NAME_BYTES) return logger;
  const end = ` ${hash(logger)}`;
  const { read } = new TextEncoder().encodeInto(logger, new Uint8Array(MAX_NAME_BYTES - end.length));
  return logger.slice(0, read) + end;
}

/** `koa-router` becomes `KOA_ROUTER`, `UsersService` becomes `USERS_SERVICE`. A name that is too long is cut and gets a hash. */
export function categoryNameOf(logger: string): string {
  if (CATEGORY_NAME.test(logger)) return logger;
  const words = logger
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  if (words === '') return withHash('LOGGER', logger);
  const name = /^[A-Z]/.test(words) ? words : `LOGGER_${words}`;
  return name.length > MAX_LENGTH ? withHash(name, logger) : name;
}

function withHash(name: string, from: string): string {
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1).replace(/[_-]+$/, '')}_${hash(from)}`;
}

/** A short hash that is the same in every process: two FNV-1a hashes of the UTF-16 code units, base 36. */
function hash(text: string): string {
  let one = 0x811c9dc5;
  let other = 0x01000193;
  for (let at = 0; at < text.length; at++) {
    one = Math.imul(one ^ text.charCodeAt(at), 0x01000193);
    other = Math.imul(other ^ text.charCodeAt(at), 0x85ebca6b);
  }
  const digits = ((one >>> 0) * 2 ** 20 + ((other >>> 0) % 2 ** 20)).toString(36).toUpperCase();
  return digits.padStart(HASH_LENGTH, '0').slice(-HASH_LENGTH);
}

function matcherOf(match: string | RegExp): (logger: string) => boolean {
  if (typeof match === 'string') return patternMatcher(match);
  // Without `g` and `y`, which would remember a position.
  const pattern = new RegExp(match.source, match.flags.replaceAll(/[gy]/g, ''));
  return (logger) => pattern.test(logger);
}
