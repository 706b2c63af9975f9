import { distance } from 'fastest-levenshtein';
import type { RdcpClient } from '../client/client.ts';
import { isCategoryName } from '../protocol/names.ts';
import { UsageError } from './command.ts';

/** Category names and patterns as an operator writes them. */
export interface Selection {
  readonly names: readonly string[];
  /** With `*` for any characters and `?` for one. */
  readonly patterns: readonly string[];
}

/**
 * Raises lower case, and tells patterns from names.
 * @throws {UsageError} for anything that no category can be called
 */
export function parseSelection(words: readonly string[]): Selection {
  const raised = words.flatMap((word) => word.split(',').map((name) => name.trim().toUpperCase()));
  const wrong = raised.findIndex((name) => !isCategoryName(name) && !isPattern(name));
  if (wrong !== -1) {
    throw new UsageError(
      `invalid category name '${raised[wrong]}': use letters, digits and underscores, such as SQL_POOL, or a pattern such as 'SQL_*'`,
    );
  }
  const unique = [...new Set(raised)];
  return { names: unique.filter((name) => !isPattern(name)), patterns: unique.filter(isPattern) };
}

function isPattern(name: string): boolean {
  return /[*?]/.test(name) && /^[A-Z0-9_*?-]{1,64}$/.test(name);
}

/** The names that a selection stands for. @throws {Error} for a pattern that no category matches */
export function resolve({ names, patterns }: Selection, categories: readonly string[]): string[] {
  const found = new Set(names);
  for (const pattern of patterns) {
    const form = new RegExp(`^${pattern.replace(/\*+/g, '.*').replaceAll('?', '.')}$`);
    const matching = categories.filter((name) => form.test(name));
    if (matching.length === 0) throw new Error(`no category matches '${pattern}'; see 'rdcp list'`);
    for (const name of matching) found.add(name);
  }
  return [...found];
}

export async function categoryNames(client: Pick<RdcpClient, 'discovery'>): Promise<string[]> {
  return (await client.discovery()).categories.map(({ name }) => name);
}

/** Known names that were probably meant; at most three. */
export function nearest(name: string, known: readonly string[]): string[] {
  const near = known
    .map((each) => ({ each, edits: distance(name, each) }))
    .filter(({ each, edits }) => edits <= Math.max(2, name.length / 3) || each.startsWith(name))
    .sort((a, b) => a.edits - b.edits)
    .map(({ each }) => each);
  return near.slice(0, 3);
}
