import type { JSX } from 'preact';
import { useEffect, useId, useMemo, useReducer, useState } from 'preact/hooks';
import type { AuditEntry } from '../../../wire/audit-messages.ts';
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../../wire/constants.ts';
import { counted } from '../../../wire/words/count.ts';
import { connection, replaceQuery, route, state } from '../page.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { SelectField, TextField } from '../parts/fields.tsx';
import { Loading, Notice } from '../parts/notice.tsx';
import { Fields } from '../parts/tables.tsx';
import { spansOfTrail } from '../state/spans.ts';
import { type AuditSearch, wantedOf } from './audit/audit-filter.ts';
import { AuditPages } from './audit/audit-pages.ts';
import type { ChainState } from './audit/chain-check.ts';
import { EntryTable } from './audit/entry-table.tsx';
import { WhoIsOn } from './who-is-on.tsx';

/** Several entries in this time are loaded at once, in milliseconds. */
const REFRESH_MS = 300;
/** How far back the picture goes, in milliseconds. */
const BACK_MS = 24 * 3600_000;

/** The entries of a search. Another search begins with new ones. */
function useAudit(wanted: AuditSearch): AuditPages {
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  const pages = useMemo(
    () =>
      new AuditPages(wanted, {
        fetch: (filter, signal) => connection.client.audit(filter, { signal }),
        digest: crypto.subtle && ((data) => crypto.subtle.digest('SHA-256', data)),
        problemOf: (error) => connection.problemOf(error),
        changed: redraw,
      }),
    [JSON.stringify(wanted)],
  );
  const live = state.entries.value;
  const link = state.link.value.state;
  useEffect(() => {
    void pages.more();
    return () => pages.close();
  }, [pages]);
  useEffect(() => {
    const timer = setTimeout(() => link === 'live' && pages.searched > 0 && void pages.refresh(), REFRESH_MS);
    return () => clearTimeout(timer);
  }, [pages, live, link]);
  return pages;
}

export function AuditView() {
  const wanted = wantedOf(route.value.query);
  const pages = useAudit(wanted);
  const { entries, isLoading, isComplete, problem } = pages;
  // A filter leaves out what began or ended.
  const isWhole = Object.keys(wanted).every((name) => name === 'category');
  const spans = spansOfTrail(entries);
  const isIdle = !isLoading && problem === undefined;
  return (
    <div class="stack">
      <AuditForm wanted={wanted} />
      <ChainPanel chain={pages.chain} isFiltered={Object.keys(wanted).length > 0 || connection.tenant !== undefined} />
      {isWhole && <WhoIsOn label="Who was on when" lanes={spans} spans={spans} back={BACK_MS} />}
      <EntryTable label="Audit trail" entries={entries} faultOf={(entry) => faultOf(pages, entry)} />
      {problem && <Notice problem={problem} onRetry={() => void pages.more()} />}
      {isLoading && <Loading what="entries" />}
      {isIdle && isComplete && (
        <p class="muted">
          {entries.length === 0 ? 'No entry' : counted(entries.length, 'entry', 'entries')}, back to the oldest one.
        </p>
      )}
      {isIdle && !isComplete && (
        <>
          <div class="bar">
            <Button onClick={() => pages.more()}>Load older entries</Button>
            <span class="muted">{counted(pages.searched, 'entry', 'entries')} searched</span>
          </div>
          <Sentinel key={pages.searched} onSeen={() => void pages.more()} />
        </>
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

/** The fields of a search. They stand in the address. */
function AuditForm({ wanted }: { readonly wanted: AuditSearch }) {
  const id = useId();
  const onChange = (change: AuditSearch) => replaceQuery('audit', { ...wanted, ...change });
  const field = (name: keyof AuditSearch, label: string, input: JSX.IntrinsicElements['input'] = {}) => (
    <TextField
      input={input}
      label={label}
      value={wanted[name] ?? ''}
      tells="when left"
      onText={(text) => onChange({ [name]: text })}
    />
  );
  const choice = (name: 'action' | 'outcome', label: string, values: readonly string[]) => (
    <SelectField
      label={label}
      value={wanted[name] ?? ''}
      options={[['', 'any'], ...values.map((value) => [value, value] as const)]}
      onChoose={(value) => onChange({ [name]: value })}
    />
  );
  return (
    <search class="audit-form">
      {field('category', 'Category', { list: id })}
      <datalist id={id}>
        {[...(state.categories.value?.keys() ?? [])].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {choice('action', 'Action', AUDIT_ACTIONS)}
      {choice('outcome', 'Result', AUDIT_OUTCOMES)}
      {field('who', 'Who')}
      {field('text', 'Text', { type: 'search' })}
      {field('since', 'From', { type: 'datetime-local' })}
      {field('until', 'To', { type: 'datetime-local' })}
      {Object.keys(wanted).length > 0 && <Button onClick={() => replaceQuery('audit', {})}>Clear filters</Button>}
    </search>
  );
}

interface ChainPanelProps {
  /** `undefined` before the first result, and where the browser computes no hashes. */
  readonly chain: ChainState | undefined;
  /** Whether filters leave entries out. */
  readonly isFiltered: boolean;
}

/** The result of checking the hashes of the loaded entries, and what it does not show. */
function ChainPanel({ chain, isFiltered }: ChainPanelProps) {
  if (chain === undefined) {
    return crypto.subtle ? null : <p class="muted">Hashes are checked here over HTTPS and on loopback.</p>;
  }
  const { checked, changed, unlinked, links, missing } = chain;
  const isBroken = changed.length + unlinked.length > 0;
  const gaps = missing > 0 && !isFiltered;
  return (
    <details class="chain" open={isBroken}>
      <summary>
        <Badge tone={isBroken ? 'error' : gaps ? 'warning' : 'good'}>
          {isBroken ? 'Chain broken' : gaps ? 'Entries missing' : 'Chain intact'}
        </Badge>{' '}
        {checked} entries checked
      </summary>
      <Fields
        of={{
          'Match their hash': checked - changed.length,
          'Changed since written': changed.length,
          'Link to the entry before': links,
          'Do not, as one was removed, added or replaced': unlinked.length,
          'Not loaded between them': missing,
        }}
      />
      <p>
        This shows whether loaded entries were changed, not that none is missing at either end, nor that this server
        shows the true trail. For that: <code>rdcp audit verify --store … --checkpoints …</code>
      </p>
    </details>
  );
}
