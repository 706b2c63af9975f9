import { distance } from 'fastest-levenshtein';
import { isRdcpError, RdcpError } from '../../wire/errors.ts';
import { isCategoryName, patternMatcher } from '../../wire/names.ts';
import { escapeUnprintable, nameSome } from '../../wire/printable.ts';
import type { RdcpClient } from '../client/client.ts';
import { type Terminal, UsageError, type Values } from './command.ts';
import { type Access, accessOf, clientOf } from './connection.ts';

export interface Selection {
  readonly names: readonly string[];
  /** With `*` for any characters and `?` for one. */
  readonly patterns: readonly string[];
}

/** @throws {UsageError} for a word that is neither a category name nor a pattern */
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

/** Expands a selection to names. @throws {Error} for a pattern that no category matches */
export function resolve({ names, patterns }: Selection, categories: readonly string[]): string[] {
  const found = new Set(names);
  for (const pattern of patterns) {
    const matching = categories.filter((name) => matches(pattern, name));
    if (matching.length === 0) throw new Error(`no category matches '${pattern}'; see 'rdcp list'`);
    for (const name of matching) found.add(name);
  }
  return [...found];
}

function matches(pattern: string, name: string): boolean {
  return patternMatcher(pattern, { one: '?' })(name);
}

export function isSelected({ names, patterns }: Selection, name: string): boolean {
  if (names.length + patterns.length === 0) return true;
  return names.includes(name) || patterns.some((pattern) => matches(pattern, name));
}

export function assertKnown(selection: Selection, categories: readonly string[]): void {
  const unknown = resolve(selection, categories).filter((name) => !categories.includes(name));
  if (unknown.length === 0) return;
  const which = `${unknown.length === 1 ? 'category' : 'categories'}: ${unknown.join(', ')}`;
  throw new RdcpError('RDCP_CATEGORY_NOT_FOUND', `Unknown ${which}`, { details: { unknown } });
}

/** Expands a selection to names. Notes what patterns match, without asking: nothing is changed yet. */
export async function namesOf(
  terminal: Terminal,
  client: Pick<RdcpClient, 'discovery'>,
  selection: Selection,
): Promise<string[]> {
  const { names, patterns } = selection;
  if (patterns.length === 0) return [...names];
  const matched = resolve({ names: [], patterns }, await categoryNames(client));
  terminal.note(`${patterns.join(', ')} ${patterns.length === 1 ? 'matches' : 'match'} ${matched.join(', ')}.`);
  return [...new Set([...names, ...matched])];
}

/** The service of a command, and the categories that its operands name there. */
export async function selected(terminal: Terminal, values: Values, selection: Selection) {
  const access = accessOf(terminal, values);
  const client = clientOf(terminal, access);
  return { access, client, names: await namesOf(terminal, client, selection) };
}

export function suggesting<T>(client: Pick<RdcpClient, 'discovery'>, ask: () => Promise<T>): Promise<T> {
  return ask().catch(async (error) => {
    throw await withNearest(client, error);
  });
}

export async function withNearest(client: Pick<RdcpClient, 'discovery'>, error: unknown): Promise<unknown> {
  if (!isRdcpError(error) || error.code !== 'RDCP_CATEGORY_NOT_FOUND') return error;
  const unknown = Array.isArray(error.details?.unknown) ? error.details.unknown.map(String) : [];
  const known = await categoryNames(client).catch(() => []);
  return new RdcpError(error.code, `${error.message}; ${didYouMean(unknown, known) ?? "see 'rdcp list'"}`);
}

export async function categoryNames(client: Pick<RdcpClient, 'discovery'>): Promise<string[]> {
  return (await client.discovery()).categories.map(({ name }) => name);
}

/** Asks for up to three known names that resemble each of the names; `undefined` where there is none. */
export function didYouMean(names: readonly string[], known: readonly string[]): string | undefined {
  const near = names.flatMap((name) =>
    known
      .map((each) => ({ each, edits: distance(name, each) }))
      .filter(({ each, edits }) => edits <= Math.max(2, name.length / 3) || each.startsWith(name))
      .sort((a, b) => a.edits - b.edits)
      .slice(0, 3),
  );
  return near.length === 0 ? undefined : `did you mean ${[...new Set(near.map(({ each }) => each))].join(' or ')}?`;
}

export async function noteUnknownTenant(terminal: Terminal, access: Access): Promise<void> {
  const { tenantId: id = '' } = access;
  const everybody = clientOf(terminal, { ...access, tenantId: undefined });
  const { tenants = [] } = await everybody.tenants().catch(() => ({ tenants: [] }));
  const known = tenants.map((tenant) => tenant.id).filter((each) => each !== id);
  const near = didYouMean([id], known);
  const unknown = `Unknown tenant ${id} (not configured, no settings, not served by this process)`;
  const others = known.length === 0 ? '.' : `; known are ${nameSome(known)}.`;
  terminal.note(`rdcp: ${escapeUnprintable(unknown + (near === undefined ? others : `: ${near}`))}`);
}
