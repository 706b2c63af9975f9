import type { z } from 'zod';
import { escapeUnprintable } from '../printable.ts';

/** What is wrong with an input, and where. */
export interface FirstIssue {
  /** Dot path of the field, `options.duration`, `categories.1`; empty for the input as a whole. */
  readonly field: string;
  readonly message: string;
}

/**
 * The first thing that a schema found wrong. Of a union's alternatives, the one that got furthest speaks; where the
 * input is of no alternative's type, all are named.
 */
export function firstIssue(error: z.ZodError): FirstIssue {
  const issue = error.issues[0];
  return issue === undefined ? { field: '', message: 'is not valid' } : describe(issue, []);
}

function describe(issue: z.core.$ZodIssue, parent: readonly PropertyKey[]): FirstIssue {
  const path = [...parent, ...issue.path];
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const branch = furthest(issue.errors);
    if (branch !== undefined && !isOfOtherType(branch)) return describe(branch, path);
    return { field: fieldOf(path), message: noneOf(issue.errors) };
  }
  if (issue.code === 'invalid_key' && issue.issues[0] !== undefined) return describe(issue.issues[0], path);
  if (issue.code === 'unrecognized_keys') {
    return { field: fieldOf([...path, issue.keys[0] ?? '']), message: 'is not a known field' };
  }
  return { field: fieldOf(path), message: sentence(issue.message) };
}

/** One line, also where somebody put a line break into a name. */
function fieldOf(path: readonly PropertyKey[]): string {
  return escapeUnprintable(path.join('.'));
}

function furthest(branches: readonly (readonly z.core.$ZodIssue[])[]): z.core.$ZodIssue | undefined {
  const firsts = branches.map((issues) => issues[0]).filter((issue) => issue !== undefined);
  return firsts.reduce<z.core.$ZodIssue | undefined>(
    (best, issue) => (best === undefined || depth(issue) > depth(best) ? issue : best),
    undefined,
  );
}

/** How far into the input an alternative got: a wrong or unknown field inside it beats a wrong type of the whole. */
function depth(issue: z.core.$ZodIssue): number {
  return issue.path.length + (isOfOtherType(issue) ? 0 : 1);
}

function isOfOtherType({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function noneOf(branches: readonly (readonly z.core.$ZodIssue[])[]): string {
  const allowed = branches.map(([issue]) => sentence(issue?.message ?? '').replace(/^must be |, received .*$/g, ''));
  return `must be ${[...new Set(allowed)].join(' or ')}`;
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

/** Our own messages begin with a verb; the library's (`Invalid input: expected number, …`) are made to. */
function sentence(message: string): string {
  return message
    .replace(/^Invalid input: expected (\w+)/, (_, type: string) => `must be ${TYPES[type] ?? type}`)
    .replace(/^Invalid option: expected one of/, 'must be one of')
    .replace(
      /^Too (?:small|big): expected \w+ to (be|have) (>=|<=|>)/,
      (_, verb, bound) => `must ${verb} ${BOUNDS[bound]} `,
    )
    .replace(/^Invalid input$/, 'is not valid');
}

const BOUNDS: Readonly<Record<string, string>> = { '>=': 'at least', '<=': 'at most', '>': 'more than' };
