import type { z } from 'zod';

/** What is wrong with an input, and where. */
export interface FirstIssue {
  /** Dot path of the field, `options.duration`, `categories.1`; empty for the input as a whole. */
  readonly field: string;
  readonly message: string;
}

/** The first thing that a schema found wrong. Of a union's alternatives, the one that got furthest speaks. */
export function firstIssue(error: z.ZodError): FirstIssue {
  const issue = error.issues[0];
  return issue === undefined ? { field: '', message: 'is not valid' } : describe(issue, []);
}

function describe(issue: z.core.$ZodIssue, parent: readonly PropertyKey[]): FirstIssue {
  const path = [...parent, ...issue.path];
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const branch = furthest(issue.errors);
    if (branch !== undefined) return describe(branch, path);
  }
  if (issue.code === 'invalid_key' && issue.issues[0] !== undefined) return describe(issue.issues[0], path);
  if (issue.code === 'unrecognized_keys') {
    return { field: [...path, issue.keys[0] ?? ''].join('.'), message: 'is not a known field' };
  }
  return { field: path.join('.'), message: sentence(issue.message) };
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
  return issue.path.length + (issue.code === 'invalid_type' && issue.path.length === 0 ? 0 : 1);
}

/** Our own messages begin with a verb; the library's (`Invalid input: expected number, …`) are made to. */
function sentence(message: string): string {
  return message
    .replace(/^Invalid input: expected/, 'must be')
    .replace(/^Invalid option: expected one of/, 'must be one of')
    .replace(/^Too (?:small|big): expected \w+ to (?:be|have)/, 'must be')
    .replace(/^Invalid input$/, 'is not valid');
}
