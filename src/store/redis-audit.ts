import { parseAuditEntry } from '../protocol/audit-entry.ts';
import type { AuditEntry } from '../protocol/audit-messages.ts';
import { LATEST_INSTANT, timestamp } from '../protocol/time.ts';
import { auditFilter, decodeCursor, encodeCursor, PAGE_BYTES } from './audit-query.ts';
import { type DroppedHead, type Placed, planPrune } from './prune-plan.ts';
import type { AuditPage, AuditQuery } from './state-store.ts';

/** Entries fetched by one command; other commands run in between. */
const BATCH = 250;
/**
 * Target size of one command's answer in bytes of JSON, estimated from earlier entries: Redis can limit only the count.
 */
const BATCH_BYTES = 256 * 1024;
const FIRST_BATCH = 4;
/** Entries scanned for one page. A rare filter continues on the next page. */
const MOST_SCANNED = 20_000;

/** A stream id: milliseconds and a counter. */
const STREAM_ID = /^\d{1,16}-\d{1,19}$/;

type Send = (args: readonly string[]) => Promise<unknown>;

/** The trail in a Redis stream. Redis keeps the order; filters run in this process, batch by batch. */
export function createRedisTrail(send: Send, stream: string) {
  async function range(command: 'XRANGE' | 'XREVRANGE', from: string, to: string, count: number) {
    const reply = (await send([command, stream, from, to, 'COUNT', String(count)])) as [unknown, unknown[]][];
    return reply.map(([id, fields]) => {
      const json = String(fields[1]);
      return { id: String(id), entry: entryOf(String(id), json), bytes: json.length };
    });
  }

  /** Oldest first. */
  async function* batches(): AsyncGenerator<readonly Placed<string>[]> {
    for (let after = '-'; ; ) {
      const batch = await range('XRANGE', after, '+', BATCH);
      yield batch.map(({ id, entry }) => ({ place: id, entry }));
      const last = batch.at(-1);
      if (last === undefined || batch.length < BATCH) return;
      after = `(${last.id}`;
    }
  }

  return {
    async page({ limit, cursor, ...filters }: AuditQuery): Promise<AuditPage> {
      const matches = auditFilter({ limit, ...filters });
      const most = Object.keys(filters).length > 0 ? BATCH : Math.min(BATCH, limit + 1);
      const entries: AuditEntry[] = [];
      let before = cursor === undefined ? '+' : `(${decodeCursor(cursor, STREAM_ID)}`;
      let last = '';
      let bytes = 0;
      let size = Math.min(most, FIRST_BATCH);
      for (let scanned = 0; scanned < MOST_SCANNED; ) {
        const batch = await range('XREVRANGE', before, '-', size);
        for (const found of batch) {
          if (matches(found.entry)) {
            // One match beyond the page shows that there is a next page.
            if (entries.length === limit || (entries.length > 0 && bytes + found.bytes > PAGE_BYTES))
              return { entries, next: encodeCursor(last) };
            entries.push(found.entry);
            bytes += found.bytes;
          }
          last = found.id;
        }
        if (batch.length < size) return { entries };
        before = `(${last}`;
        scanned += size;
        const average = batch.reduce((sum, found) => sum + found.bytes, 0) / batch.length;
        size = Math.max(1, Math.min(most, Math.floor(BATCH_BYTES / average)));
      }
      return { entries, next: encodeCursor(last) };
    },

    async newest(): Promise<AuditEntry | undefined> {
      return (await range('XREVRANGE', '+', '-', 1))[0]?.entry;
    },

    async prune(
      now: number,
      starting: (dropped: readonly DroppedHead[]) => Promise<boolean>,
      mayDrop: (entry: AuditEntry) => boolean,
    ): Promise<number> {
      const { places, heads } = await planPrune(batches(), now, mayDrop);
      if (places.length === 0 || !(await starting(heads))) return 0;
      let dropped = 0;
      for (let start = 0; start < places.length; start += BATCH) {
        dropped += Number(await send(['XDEL', stream, ...places.slice(start, start + BATCH)]));
      }
      return dropped;
    },
  };
}

function entryOf(id: string, json: string): AuditEntry {
  return parseAuditEntry(json, () => {
    const appendedAt = Number(id.slice(0, id.indexOf('-')));
    return { id, timestamp: timestamp(Math.min(appendedAt, LATEST_INSTANT)) };
  });
}
