import { parseAuditEntry } from '../../wire/audit-entry.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { LATEST_INSTANT, timestamp } from '../../wire/time.ts';
import { auditFilter, decodeCursor, type Hit, inBatches, pageOf } from '../audit-query.ts';
import { type Placed, prune } from '../prune-plan.ts';
import type { AuditPage, AuditQuery, StateStore } from '../state-store.ts';
import type { Send } from './scripts.ts';

/** Entries fetched by one command; other commands run in between. */
const BATCH = 250;
/** Entries scanned for one page. A rare filter continues on the next page. */
const MOST_SCANNED = 20_000;

/** How far the clock of a process may be ahead of that of Redis, which the ids of entries have. */
const CLOCKS_DIFFER_MS = 86_400_000;

/** A stream id: milliseconds and a counter. */
const STREAM_ID = /^\d{1,16}-\d{1,19}$/;

export function createRedisTrail(send: Send, stream: string) {
  async function range(command: 'XRANGE' | 'XREVRANGE', from: string, to: string, count: number): Promise<Hit[]> {
    const reply = (await send([command, stream, from, to, 'COUNT', String(count)])) as [unknown, unknown[]][];
    return reply.map(([id, fields]) => {
      const json = String(fields[1]);
      return { position: String(id), entry: entryOf(String(id), json), bytes: json.length };
    });
  }

  /** Oldest first. */
  async function* batches(): AsyncGenerator<readonly Placed<string>[]> {
    for (let after = '-'; ; ) {
      const batch = await range('XRANGE', after, '+', BATCH);
      yield batch.map(({ position, entry }) => ({ place: position, entry }));
      const last = batch.at(-1);
      if (last === undefined || batch.length < BATCH) return;
      after = `(${last.position}`;
    }
  }

  async function drop(places: readonly string[]): Promise<number> {
    let dropped = 0;
    for (let start = 0; start < places.length; start += BATCH) {
      dropped += Number(await send(['XDEL', stream, ...places.slice(start, start + BATCH)]));
    }
    return dropped;
  }

  return {
    async page(query: AuditQuery): Promise<AuditPage> {
      const { limit, cursor, ...filters } = query;
      const { since } = filters;
      const begin = since === undefined ? '-' : String(Math.max(0, since - CLOCKS_DIFFER_MS));
      const most = Object.keys(filters).length > 0 ? BATCH : Math.min(BATCH, limit + 1);
      const from = cursor === undefined ? '+' : decodeCursor(cursor, STREAM_ID);
      const read = (before: string, size: number) =>
        range('XREVRANGE', before === '+' ? before : `(${before}`, begin, size);
      const found = inBatches(read, from, most);
      return pageOf({ found, limit, matches: auditFilter(query), mostFound: MOST_SCANNED });
    },

    async newest(): Promise<AuditEntry | undefined> {
      return (await range('XREVRANGE', '+', '-', 1))[0]?.entry;
    },

    prune: (...args: Parameters<StateStore['pruneAudit']>) => prune({ batches, drop }, ...args),
  };
}

function entryOf(id: string, json: string): AuditEntry {
  return parseAuditEntry(json, () => {
    const appendedAt = Number(id.slice(0, id.indexOf('-')));
    return { id, timestamp: timestamp(Math.min(appendedAt, LATEST_INSTANT)) };
  });
}
