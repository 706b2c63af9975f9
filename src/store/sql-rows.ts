import type { ScopeKey, ScopeState } from './state-store.ts';
import type { StoredValues } from './stored-values.ts';

/** A row of SQLite or PostgreSQL, which have the same columns and different types of values. */
export type Row = Readonly<Record<string, unknown>>;

/** Scopes read by one statement. */
export const LOADED_AT_ONCE = 500;

/** A row of the table `scope`; `undefined` for a scope that was never written. */
export function scopeOf(stored: StoredValues, row: Row | undefined): ScopeState {
  if (row === undefined) return { revision: 0, settings: new Map() };
  return stored.scope(Number(row.revision), Number(row.changed_at), String(row.settings));
}

export function scopesOf(stored: StoredValues, rows: readonly Row[]): Map<ScopeKey, ScopeState> {
  return new Map(rows.map((row) => [String(row.key), scopeOf(stored, row)]));
}

/** @param readAfter reads the first {@link LOADED_AT_ONCE} scopes whose key comes after the given one */
export async function allScopes(
  stored: StoredValues,
  readAfter: (key: string) => Promise<readonly Row[]>,
): Promise<Map<ScopeKey, ScopeState>> {
  const found = new Map<ScopeKey, ScopeState>();
  for (let last = ''; ; ) {
    const rows = await readAfter(last);
    for (const [key, state] of scopesOf(stored, rows)) found.set(key, state);
    if (rows.length < LOADED_AT_ONCE) return found;
    last = String(rows.at(-1)?.key);
  }
}

export function replayOf(stored: StoredValues, { key, fingerprint, response, expires_at }: Row) {
  return stored.replay({ key, fingerprint, response, expiresAt: Number(expires_at) });
}
