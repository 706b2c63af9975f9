import { isDeepStrictEqual } from 'node:util';
import { parseAuditEntry } from '../../wire/audit-entry.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { LATEST_INSTANT, timestamp } from '../../wire/time.ts';
import { countedPosition, type Found, pageOf } from '../audit-query.ts';
import { type Placed, prune } from '../prune-plan.ts';
import type { AuditPage, AuditQuery, StateStore } from '../state-store.ts';
import type { Query, Row } from './connection.ts';

/** Positions searched, entries dropped, and entries read by one statement at most. */
const SEARCHED_AT_ONCE = 20_000;
const DROPPED_AT_ONCE = 1000;
const READ_AT_ONCE = 250;
/** Target size of one answer in bytes, estimated from earlier entries. */
const BYTES_AT_ONCE = 256 * 1024;
const FIRST_BATCH = 4;
/** Last year that a time of PostgreSQL and of ISO 8601 has in common, in four digits. */
const FOUR_DIGITS = /^\d{4}-/;

const COLUMNS = `position, action, outcome, client_id, tenant, to_json(categories) AS categories, entry,
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

/** The trail in the table `audit`. */
export function createPostgresTrail(query: Query, schema: string) {
  const table = `${schema}.audit`;

  /** Newest first, in slices, so that no statement searches everything. */
  async function* search(asked: AuditQuery, from: number): AsyncGenerator<Found> {
    const { conditions, values } = filter(asked);
    let size = FIRST_BATCH;
    for (let before = from; ; ) {
      // Positions may be far apart.
      const [newest] = await query(`SELECT max(position) AS position FROM ${table} WHERE position < $1`, [before]);
      if (newest?.position == null) return;
      const begin = Number(newest.position) + 1 - SEARCHED_AT_ONCE;
      for (before = Number(newest.position) + 1; ; ) {
        const rows = await query(
          `SELECT ${COLUMNS} FROM ${table} WHERE position < $1 AND position >= $2 ${conditions}
           ORDER BY position DESC LIMIT $3`,
          [before, begin, size, ...values],
        );
        for (const row of rows) {
          yield { position: String(row.position), entry: entryOf(row), bytes: row.entry?.length ?? 0 };
        }
        if (rows.length < size) break;
        before = Number(rows.at(-1)?.position);
        const average = rows.reduce((sum, { entry }) => sum + (entry?.length ?? 0), 0) / rows.length;
        size = Math.max(1, Math.min(READ_AT_ONCE, Math.floor(BYTES_AT_ONCE / average)));
      }
      before = begin;
    }
  }

  /** Oldest first. */
  async function* batches(): AsyncGenerator<readonly Placed<string>[]> {
    for (let after = '0'; ; ) {
      const rows = await query(
        `SELECT ${COLUMNS} FROM ${table} WHERE position > $1 ORDER BY position LIMIT ${READ_AT_ONCE}`,
        [after],
      );
      yield rows.map((row) => ({ place: String(row.position), entry: parsed(row) }));
      if (rows.length < READ_AT_ONCE) return;
      after = String(rows.at(-1)?.position);
    }
  }

  async function drop(places: readonly string[]): Promise<number> {
    let dropped = 0;
    for (let start = 0; start < places.length; start += DROPPED_AT_ONCE) {
      const some = places.slice(start, start + DROPPED_AT_ONCE);
      dropped += (await query(`DELETE FROM ${table} WHERE position = ANY ($1) RETURNING position`, [some])).length;
    }
    return dropped;
  }

  return {
    async page(asked: AuditQuery): Promise<AuditPage> {
      const from = asked.cursor === undefined ? Number.MAX_SAFE_INTEGER : countedPosition(asked.cursor);
      return pageOf({ found: search(asked, from), limit: asked.limit });
    },

    async newest(): Promise<AuditEntry | undefined> {
      const [row] = await query(`SELECT ${COLUMNS} FROM ${table} ORDER BY position DESC LIMIT 1`);
      return row && entryOf(row);
    },

    async prune(...asked: Parameters<StateStore['pruneAudit']>): Promise<number> {
      const ended = `SELECT FROM ${table} WHERE retain_until <= to_timestamp($1::double precision / 1000) LIMIT 1`;
      return (await query(ended, [asked[0]])).length === 0 ? 0 : prune({ batches, drop }, ...asked);
    },
  };
}

/** Parameters begin at `$4`. */
function filter(asked: AuditQuery): { readonly conditions: string; readonly values: readonly unknown[] } {
  const given = [
    ['action = ?', asked.action],
    ['outcome = ?', asked.outcome],
    ['client_id = ?', asked.client],
    ['tenant = ?', asked.tenant],
    ['at >= to_timestamp(?::double precision / 1000)', asked.since],
    ['at < to_timestamp(?::double precision / 1000)', asked.until],
    ['? = ANY (categories)', asked.category],
  ] as const;
  const used = given.filter(([, value]) => value !== undefined);
  return {
    conditions: used.map(([condition], index) => `AND ${condition.replace('?', `$${index + 4}`)}`).join(' '),
    values: used.map(([, value]) => value),
  };
}

function parsed({ position, at, entry }: Row): AuditEntry {
  return parseAuditEntry(entry ?? '', () => ({ id: `position-${position}`, timestamp: timestamp(Number(at)) }));
}

/** When a column disagrees with the entry, one was altered, and the entry is returned without a valid hash. */
function entryOf(row: Row): AuditEntry {
  const entry = parsed(row);
  const { action, outcome, client_id, tenant, categories, at, retain_until } = columnsOf(entry);
  const instant = (text: string) => (text === 'infinity' ? LATEST_INSTANT : Date.parse(text));
  const agrees =
    isDeepStrictEqual(
      [action, outcome, client_id, tenant, categories],
      [row.action, row.outcome, row.client_id, row.tenant, JSON.parse(row.categories ?? '[]')],
    ) &&
    instant(at) === Number(row.at) &&
    instant(retain_until) === Number(row.retain_until);
  return agrees ? entry : { ...entry, compliance: { ...entry.compliance, hash: '' } };
}
