import type { z } from 'zod';
import { escapeUnprintable } from './printable.ts';

export const UNKNOWN_FIELD = 'is not a known field';

export interface FirstIssue {
  /** Path of the field, such as `options.duration` or `categories.1`; empty for the whole input. */
  readonly field: string;
  readonly message: string;
}

/** The first error; for a union that of the alternative that matched furthest; if none has the input's type, all of them. */
export function firstIssue(error: z.ZodError): FirstIssue {
  const issue = error.issues[0];
  return issue === undefined ? { field: '', message: 'is not valid' } : describe(issue, []);
}

function describe(issue: z.core.$ZodIssue, parent: readonly PropertyKey[]): FirstIssue {
  const path = [...parent, ...issue.path];
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const branch = furthest(issue.errors);
    if (branch !== undefined && !isTypeMismatch(branch)) return describe(branch, path);
    return { field: fieldOf(path), message: describeAlternatives(issue.errors) };
  }
  if (issue.code === 'invalid_key' && issue.issues[0] !== undefined) return describe(issue.issues[0], path);
  if (issue.code === 'unrecognized_keys') {
    return { field: fieldOf([...path, issue.keys[0]!]), message: UNKNOWN_FIELD };
  }
  return { field: fieldOf(path), message: sentence(issue.message) };
}

/** Returns the path in one line: field names may contain line breaks. */
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

/** How deep an alternative matched. A wrong field inside it ranks above a wrong type of the whole. */
function depth(issue: z.core.$ZodIssue): number {
  return issue.path.length + (isTypeMismatch(issue) ? 0 : 1);
}

function isTypeMismatch({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function describeAlternatives(branches: readonly (readonly z.core.$ZodIssue[])[]): string {
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

/** Rewrites zod's messages (`Invalid input: expected number, …`) to begin with a verb, as ours do. */
function sentence(message: string): string {
  return message
    .replace(/^Invalid input: expected (\w+)/, (_, type: string) => `must be ${TYPES[type] ?? type}`)
    .replace(/^must be a whole number, received number$/, 'must be a whole number')
    .replace(/^Invalid option: expected one of/, 'must be one of')
    .replace(
      /^Too (?:small|big): expected \w+ to (be|have) (>=|<=|>)/,
      (_, verb, bound) => `must ${verb} ${BOUNDS[bound]} `,
    )
    .replace(/^Invalid input$/, 'is not valid');
}

const BOUNDS: Readonly<Record<string, string>> = { '>=': 'at least', '<=': 'at most', '>': 'more than' };
