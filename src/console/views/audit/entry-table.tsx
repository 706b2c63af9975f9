import { useState } from 'preact/hooks';
import type { AuditEntry } from '../../../protocol/audit-messages.ts';
import { LongRow, LongTable } from '../../parts/long-table.tsx';
import { Text } from '../../parts/text.tsx';
import { Time } from '../../parts/time.tsx';
import { href } from '../../state/route.ts';
import { EntryDialog } from './entry-dialog.tsx';
import { changesText, whoOf } from './entry-text.ts';
import { OutcomeBadge } from './outcome-badge.tsx';

const HEAD = ['Time', 'Action', 'Categories', 'For whom', 'Change', 'Who', 'Reason'];
/** Of a row, in pixels. */
const HEIGHT = 44;
/** Categories that a row names. */
const MOST_CATEGORIES = 2;

interface EntryTableProps {
  readonly label: string;
  readonly entries: readonly AuditEntry[];
  /** What is wrong with the place of an entry in the chain. */
  readonly faultOf?: (entry: AuditEntry) => string | undefined;
}

/** Entries of the audit trail. Each opens a dialog with everything that it says. */
export function EntryTable({ label, entries, faultOf = () => undefined }: EntryTableProps) {
  const [opened, setOpened] = useState<AuditEntry>();
  return (
    <>
      {entries.length > 0 && (
        <LongTable
          label={label}
          kind="audit-row"
          head={HEAD}
          items={entries}
          keyOf={({ id }) => id}
          rowHeight={HEIGHT}
          renderRow={(entry, index) => (
            <LongRow
              kind={`audit-row ${faultOf(entry) === undefined ? '' : 'broken'}`}
              index={index}
              cells={cellsOf(entry, () => setOpened(entry))}
            />
          )}
        />
      )}
      {opened && <EntryDialog entry={opened} fault={faultOf(opened)} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function cellsOf(entry: AuditEntry, onOpen: () => void) {
  const { action, categories, changes, count, outcome, reason, tenant, timestamp } = entry;
  const more = categories.length - MOST_CATEGORIES;
  const until = changes[0]?.expiresAt;
  return [
    <Time at={timestamp} />,
    <>
      <button type="button" class="link" aria-haspopup="dialog" onClick={onOpen}>
        {action}
      </button>{' '}
      {outcome !== 'success' && <OutcomeBadge outcome={outcome} />}
      {count !== undefined && <span class="muted">× {count.toLocaleString()}</span>}
    </>,
    <>
      {categories.slice(0, MOST_CATEGORIES).map((name) => (
        <span key={name}>
          <a href={href('categories', name)}>{name}</a>{' '}
        </span>
      ))}
      {more > 0 && <span class="muted">+{more}</span>}
    </>,
    tenant ? <Text value={tenant.name ?? tenant.id} most={40} /> : categories.length > 0 && 'everybody',
    <>
      {changesText(changes)}{' '}
      {until !== undefined && (
        <span class="muted">
          until <Time at={until} />
        </span>
      )}
    </>,
    <Text value={whoOf(entry)} most={80} />,
    reason !== undefined && <Text value={reason} most={200} />,
  ];
}
