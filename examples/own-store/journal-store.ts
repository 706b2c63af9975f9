// A store of one's own: everything that is committed is a line of JSON in one file, written to the disk before it is
// acknowledged. For one process, because the file is read once.

import { type FileHandle, open, rename } from 'node:fs/promises';
import { RdcpError, type StateStore, Store } from 'opentelemetry-instrumentation-rdcp';
import type { AuditEntry } from 'opentelemetry-instrumentation-rdcp/client';

/** One commit, as a line of the journal. */
interface Line {
  readonly scope?: {
    readonly key: Store.ScopeKey;
    readonly revision: number;
    readonly settings: [string, Store.Setting][];
    readonly activations?: readonly Store.Activation[] | undefined;
  };
  readonly now: number;
  readonly audit?: AuditEntry;
  readonly replay?: Store.ReplayRecord;
}

/** Most bytes of entries in one page. */
const PAGE_BYTES = 2 * 1024 * 1024;

const NEVER_WRITTEN: Store.ScopeState = { revision: 0, settings: new Map() };

/** Opens the journal, and makes it where there is none. */
export async function openJournalStore(path: string): Promise<StateStore> {
  const scopes = new Map<Store.ScopeKey, Store.ScopeState>();
  const replays = new Map<string, Store.ReplayRecord>();
  let trail: Store.Placed<number>[] = [];
  let written = 0;
  let file: FileHandle | undefined = await open(path, 'a+', 0o600);

  function apply({ scope, audit, replay, now }: Line): void {
    if (scope !== undefined) {
      const { key, revision, settings, activations } = scope;
      scopes.set(key, { revision, settings: new Map(settings), activations, changedAt: now });
    }
    if (audit !== undefined) trail.push({ place: written++, entry: audit });
    if (replay !== undefined) replays.set(replay.key, replay);
  }

  // A process that was killed may have left half a line, which was never acknowledged.
  const text = await file.readFile('utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  await file.truncate(Buffer.byteLength(whole));
  for (const line of whole.split('\n').slice(0, -1)) apply(JSON.parse(line));

  /** One after the other: each commit sees what the one before it wrote. */
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(work: (file: FileHandle) => Promise<T>): Promise<T> {
    const result = last.then(() => work(opened()));
    last = result.catch(() => {});
    return result;
  }

  function opened(): FileHandle {
    if (file === undefined) throw new Error('the journal is closed');
    return file;
  }

  function keptAnswer(key: string, now: number): Store.ReplayRecord | undefined {
    const replay = replays.get(key);
    return replay !== undefined && replay.expiresAt > now ? replay : undefined;
  }

  async function commit(journal: FileHandle, { state, audit, replay, now }: Store.Commit): Promise<Store.CommitResult> {
    const repeated = replay && keptAnswer(replay.key, now);
    if (repeated !== undefined) return { outcome: 'replayed', replay: repeated };
    const current = (state && scopes.get(state.scope)) ?? NEVER_WRITTEN;
    if (state !== undefined && state.expectedRevision !== current.revision) return { outcome: 'conflict', current };
    const revision = current.revision + 1;
    const line: Line = {
      ...(state && {
        scope: { key: state.scope, revision, settings: [...state.settings], activations: state.activations },
      }),
      ...(replay && { replay }),
      audit,
      now,
    };
    await journal.appendFile(`${JSON.stringify(line)}\n`);
    await journal.sync();
    apply(line);
    return state === undefined ? { outcome: 'committed' } : { outcome: 'committed', revision };
  }

  /** Writes what is left into a new file, which takes the place of the old one. */
  async function compact(journal: FileHandle, now: number): Promise<void> {
    const lines: Line[] = [
      ...[...scopes].map(([key, { revision, settings, activations, changedAt = now }]) => ({
        scope: { key, revision, settings: [...settings], activations },
        now: changedAt,
      })),
      ...[...replays.values()].filter(({ expiresAt }) => expiresAt > now).map((replay) => ({ replay, now })),
      ...trail.map(({ entry }) => ({ audit: entry, now })),
    ];
    const next = await open(`${path}.next`, 'w', 0o600);
    await next.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    await next.sync();
    await rename(`${path}.next`, path);
    file = next;
    await journal.close();
  }

  return {
    name: 'journal',
    shared: false,
    load: () => inTurn(async () => new Map(scopes)),
    commit: (asked) => inTurn((journal) => commit(journal, asked)),
    findReplay: (key, now) => inTurn(async () => keptAnswer(key, now)),
    // No other process writes here.
    subscribe: () => () => {},

    queryAudit: (query) =>
      inTurn(async () => {
        const end = query.cursor === undefined ? written : positionOf(query.cursor);
        const matching = trail.filter(({ place, entry }) => place < end && matches(entry, query)).toReversed();
        let bytes = 0;
        const fitting = matching.slice(0, query.limit).findIndex(({ entry }, index) => {
          bytes += Buffer.byteLength(JSON.stringify(entry));
          return bytes > PAGE_BYTES && index > 0;
        });
        const page = matching.slice(0, fitting < 0 ? query.limit : fitting);
        const more = page.length < matching.length;
        return {
          entries: page.map(({ entry }) => entry),
          ...(more && { next: cursorOf(page.at(-1)?.place ?? 0) }),
        };
      }),

    newestAudit: () => inTurn(async () => trail.at(-1)?.entry),

    async pruneAudit(now, starting = async () => true, mayDrop = () => true) {
      opened();
      const { places, heads } = await Store.planPrune(oldestFirst(trail), now, mayDrop);
      if (places.length === 0 || !(await starting(heads))) return 0;
      return inTurn(async (journal) => {
        const dropped = new Set(places);
        trail = trail.filter(({ place }) => !dropped.has(place));
        await compact(journal, now);
        return dropped.size;
      });
    },

    check: () => inTurn((journal) => journal.sync()),

    async close() {
      const closing = inTurn(async (journal) => {
        file = undefined;
        await journal.close();
      });
      if (file !== undefined) await closing;
      else await closing.catch(() => {});
    },
  };
}

async function* oldestFirst(trail: readonly Store.Placed<number>[]): AsyncGenerator<readonly Store.Placed<number>[]> {
  yield trail;
}

function matches(
  entry: AuditEntry,
  { since, until, action, category, client, outcome, tenant }: Store.AuditQuery,
): boolean {
  const at = Date.parse(entry.timestamp);
  return (
    (since === undefined || at >= since) &&
    (until === undefined || at < until) &&
    (action === undefined || entry.action === action) &&
    (category === undefined || entry.categories.includes(category)) &&
    (client === undefined || entry.identity.clientId === client) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (tenant === undefined || entry.tenant?.id === tenant)
  );
}

/** A position as the opaque text that clients send back. */
function cursorOf(position: number): string {
  return Buffer.from(String(position)).toString('base64url');
}

function positionOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString();
  if (/^\d{1,15}$/.test(text) && cursorOf(Number(text)) === cursor) return Number(text);
  throw new RdcpError('RDCP_MALFORMED_REQUEST', 'cursor is not one that this server gave out', {
    details: { field: 'cursor' },
  });
}
