import { useEffect, useMemo, useState } from 'preact/hooks';
import type { AuditEntry } from '../../protocol/audit-messages.ts';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { Loading, Notice } from '../parts/notice.tsx';
import type { Connection } from '../state/connection.ts';
import { useRedraw } from '../state/use-redraw.ts';
import { replaceQuery } from '../state/use-route.ts';
import { useStore } from '../state/use-store.ts';
import { type Wanted, wantedOf } from './audit/audit-filter.ts';
import { AuditForm } from './audit/audit-form.tsx';
import { AuditPages } from './audit/audit-pages.ts';
import { ChainPanel } from './audit/chain-panel.tsx';
import { EntryTable } from './audit/entry-table.tsx';
import type { ViewProps } from './view.ts';

/** The entries of a search. It is begun again when another one is wanted. */
function useAudit(connection: Connection, wanted: Wanted): AuditPages {
  const [, redraw] = useRedraw();
  const key = JSON.stringify(wanted);
  const pages = useMemo(
    () =>
      new AuditPages(wanted, {
        fetch: (filter, signal) => connection.client.audit(filter, { signal }),
        digest: crypto.subtle && ((data) => crypto.subtle.digest('SHA-256', data)),
        problemOf: (error) => connection.problemOf(error),
        changed: redraw,
      }),
    [connection, key],
  );
  const live = useStore(connection, (state) => state.entries);
  const link = useStore(connection, (state) => state.link.state);
  useEffect(() => {
    void pages.more();
    return () => pages.close();
  }, [pages]);
  useEffect(() => pages.add(live), [pages, live]);
  useEffect(() => {
    if (link === 'live' && pages.searched > 0) void pages.refresh();
  }, [pages, link]);
  return pages;
}

export function AuditView({ connection, route }: ViewProps) {
  const wanted = wantedOf(route.query);
  const pages = useAudit(connection, wanted);
  const categories = useStore(connection, (state) => state.categories);
  const { entries, isLoading, isComplete, problem } = pages;
  return (
    <div class="stack">
      <AuditForm
        wanted={wanted}
        categories={categories?.keys() ?? []}
        onChange={(change) => replaceQuery('audit', { ...wanted, ...change })}
        onReset={() => replaceQuery('audit', {})}
      />
      <ChainPanel chain={pages.chain} isFiltered={Object.keys(wanted).length > 0 || connection.tenant !== undefined} />
      <EntryTable label="Audit trail" entries={entries} faultOf={(entry) => faultOf(pages, entry)} />
      {problem && <Notice problem={problem} onRetry={() => void pages.more()} />}
      {isLoading && <Loading what="entries" />}
      {!isLoading && problem === undefined && isComplete && (
        <p class="muted">
          {entries.length === 0 ? 'No entry' : counted(entries.length, 'entry', 'entries')}, back to the oldest one.
        </p>
      )}
      {!isLoading && problem === undefined && !isComplete && (
        <div class="bar">
          <Button onClick={() => void pages.more()}>Load older entries</Button>
          <span class="muted">{counted(pages.searched, 'entry', 'entries')} searched</span>
        </div>
      )}
      {!isComplete && !isLoading && problem === undefined && (
        <Sentinel key={pages.searched} onSeen={() => void pages.more()} />
      )}
    </div>
  );
}

function faultOf({ chain }: AuditPages, { id }: AuditEntry): string | undefined {
  if (chain?.changed.includes(id)) return 'The content does not match its hash';
  return chain?.unlinked.includes(id) ? 'It does not link to the entry before' : undefined;
}

/** Loads the next page when the end comes into view. */
function Sentinel({ onSeen }: { readonly onSeen: () => void }) {
  const [element, setElement] = useState<Element | null>(null);
  useEffect(() => {
    if (element === null) return undefined;
    const observer = new IntersectionObserver(([seen]) => seen?.isIntersecting === true && onSeen(), {
      rootMargin: '200px',
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return <div ref={setElement} />;
}
