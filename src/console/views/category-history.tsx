import { Loading, Notice } from '../parts/notice.tsx';
import { usePolled } from '../parts/use-polled.ts';
import type { Connection } from '../state/connection.ts';
import { href } from '../state/route.ts';
import { useStore } from '../state/use-store.ts';
import { EntryTable } from './audit/entry-table.tsx';

/** Entries that are shown. */
const NEWEST = 8;

interface HistoryProps {
  readonly connection: Connection;
  readonly category: string;
}

/** The last changes of a category: when, what, who and why. Asked for again when there is another one. */
export function CategoryHistory({ connection, category }: HistoryProps) {
  const newest = useStore(connection, ({ entries }) => entries.find(({ categories }) => categories.includes(category)));
  const { value, problem, refresh } = usePolled(
    connection,
    (signal) => connection.client.audit({ category, limit: NEWEST }, { signal }),
    { key: newest },
  );
  return (
    <section aria-label="Last changes">
      <h2>Last changes</h2>
      {problem && <Notice problem={problem} onRetry={refresh} />}
      <EntryTable label="Last changes" entries={value?.entries ?? []} />
      {value === undefined && problem === undefined && <Loading what="changes" />}
      {value?.entries.length === 0 && <p class="muted">None yet.</p>}
      <a href={href('audit', undefined, { category })}>All in the audit trail</a>
    </section>
  );
}
