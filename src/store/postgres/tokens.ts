import type { StoredValues } from '../stored-values.ts';
import type { RotationOutcome, TokenStore } from '../token-store.ts';
import type { Query } from './connection.ts';

export interface PostgresTokensOptions {
  readonly query: Query;
  /** The schema, as statements have it. */
  readonly schema: string;
  readonly stored: StoredValues;
}

/** Token records in PostgreSQL. Their data is kept as JSON, because a text of PostgreSQL has no NUL. */
export function createPostgresTokens({ query, schema, stored }: PostgresTokensOptions): TokenStore {
  return {
    async begin({ id, current, data, expiresAt }, now) {
      await query(
        `WITH ended AS (DELETE FROM ${schema}.token_session WHERE expires_at <= $5)
         INSERT INTO ${schema}.token_session (id, current, data, expires_at) VALUES ($1, $2, $3, $4)`,
        [id, current, JSON.stringify(data), expiresAt, now],
      );
    },

    async find(id, now) {
      const [row] = await query(`SELECT * FROM ${schema}.token_session WHERE id = $1 AND expires_at > $2`, [id, now]);
      if (row === undefined) return undefined;
      const { current, data, expires_at } = row;
      return stored.session({ id, current, data: decoded(data), expiresAt: Number(expires_at) });
    },

    async rotate({ id, expected, next, now, revokedUntil }) {
      const values = [id, expected, next, revokedUntil, now];
      const [row] = await query(`SELECT ${schema}.rotate_session($1, $2, $3, $4, $5) AS outcome`, values);
      return row?.outcome as RotationOutcome;
    },

    async revoke(id, until, now) {
      const [row] = await query(`SELECT ${schema}.revoke_session($1, $2, $3) AS is_new`, [id, until, now]);
      return row?.is_new === 't';
    },

    async revocations(after, now) {
      const rows = await query(
        `SELECT position, session, until FROM ${schema}.token_revocation
         WHERE position > $1 AND until > $2 ORDER BY position`,
        [after, now],
      );
      return {
        position: Number(rows.at(-1)?.position ?? after),
        revoked: rows.map(({ session, until }) => ({ sessionId: String(session), until: Number(until) })),
      };
    },
  };
}

/** A malformed one is none, which is reported and dropped. */
function decoded(json: string | null | undefined): unknown {
  try {
    return JSON.parse(json ?? '');
  } catch {
    return undefined;
  }
}
