import type { AuditEntry } from '../../wire/audit-messages.ts';
import { LATEST_INSTANT } from '../../wire/time.ts';
import { SqlTrail } from '../sql-trail.ts';
import type { Query } from './connection.ts';

/** Entries dropped, and entries read by one statement at most. */
const DROPPED_AT_ONCE = 1000;
const READ_AT_ONCE = 250;
/** Last year that a time of PostgreSQL and of ISO 8601 has in common, in four digits. */
const FOUR_DIGITS = /^\d{4}-/;

const COLUMNS = `position, action, outcome, client_id AS client, tenant, to_json(categories) AS categories, entry,
  least((extract(epoch FROM at) * 1000)::numeric, ${LATEST_INSTANT}) AS at,
  least((extract(epoch FROM retain_until) * 1000)::numeric, ${LATEST_INSTANT}) AS retain_until`;

/** The columns of an entry: what is filtered, and what SQL shows. */
export function columnsOf(entry: AuditEntry) {
  const { id, timestamp: at, action, outcome, identity, tenant, categories, reason, requestId, compliance } = entry;
  const columns = {
    id,
    at: FOUR_DIGITS.test(at) ? at : 'infinity',
    action,
    outcome,
    user_id: identity.userId ?? null,
    client_id: identity.clientId ?? null,
    tenant: tenant?.id ?? null,
    categories: [...new Set(categories)],
    reason: reason ?? null,
    request_id: requestId ?? null,
    instance: compliance.instanceId,
    sequence: compliance.sequence,
    retain_until: FOUR_DIGITS.test(compliance.retainUntil) ? compliance.retainUntil : 'infinity',
  };
  // A text of PostgreSQL has no NUL. The entry itself is JSON, which writes it as an escape.
  const withoutNul = (_: string, value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '') : value);
  return { ...(JSON.parse(JSON.stringify(columns), withoutNul) as typeof columns), entry: JSON.stringify(entry) };
}

const CONDITIONS = {
  action: 'action = ?',
  outcome: 'outcome = ?',
  client: 'client_id = ?',
  tenant: 'tenant = ?',
  since: 'at >= to_timestamp(?::double precision / 1000)',
  until: 'at < to_timestamp(?::double precision / 1000)',
  category: '? = ANY (categories)',
};

/** The trail in the table `audit`. */
export function createPostgresTrail(query: Query, schema: string): SqlTrail {
  const table = `${schema}.audit`;
  return new SqlTrail({
    conditions: CONDITIONS,
    searchedAtOnce: 20_000,
    readAtOnce: READ_AT_ONCE,

    async newest() {
      return (await query(`SELECT ${COLUMNS} FROM ${table} ORDER BY position DESC LIMIT 1`))[0];
    },

    async newestBefore(position) {
      const rows = await query(`SELECT max(position) AS position FROM ${table} WHERE position < $1`, [position]);
      return rows[0]?.position;
    },

    search({ conditions, values }) {
      const filter = conditions.map((condition, index) => `AND ${condition.replace('?', `$${index + 4}`)}`).join(' ');
      const text = `SELECT ${COLUMNS} FROM ${table} WHERE position < $1 AND position >= $2 ${filter}
        ORDER BY position DESC LIMIT $3`;
      return ({ before, begin, limit }) => query(text, [before, begin, limit, ...values]);
    },

    readAfter: (position) =>
      query(`SELECT ${COLUMNS} FROM ${table} WHERE position > $1 ORDER BY position LIMIT ${READ_AT_ONCE}`, [position]),

    async hasEnded(now) {
      const ended = `SELECT FROM ${table} WHERE retain_until <= to_timestamp($1::double precision / 1000) LIMIT 1`;
      return (await query(ended, [now])).length > 0;
    },

    async drop(positions) {
      let dropped = 0;
      for (let start = 0; start < positions.length; start += DROPPED_AT_ONCE) {
        const some = positions.slice(start, start + DROPPED_AT_ONCE);
        dropped += (await query(`DELETE FROM ${table} WHERE position = ANY ($1) RETURNING position`, [some])).length;
      }
      return dropped;
    },
  });
}
