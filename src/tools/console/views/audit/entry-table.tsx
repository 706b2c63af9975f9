import { useState } from 'preact/hooks';
import { type AuditEntry, type AuditOutcome, actionOf } from '../../../../wire/audit-messages.ts';
import { settingText } from '../../../../wire/words/level.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { CopyButton } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Fields, LongRow, LongTable, Table } from '../../parts/tables.tsx';
import { Text } from '../../parts/text.tsx';
import { Time } from '../../parts/time.tsx';
import { href } from '../../state/route.ts';
import { changesText, whoOf } from './entry-text.ts';

const HEAD = ['Time', 'Action', 'Categories', 'For whom', 'Change', 'Who', 'Reason'];
/** Height of a row, in pixels. */
const HEIGHT = 44;
/** Categories that a row names. */
const MOST_CATEGORIES = 2;

interface EntryTableProps {
  readonly label: string;
  readonly entries: readonly AuditEntry[];
  /** The fault of an entry in the chain. */
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
  const { categories, changes, count, outcome, reason, tenant, timestamp } = entry;
  const more = categories.length - MOST_CATEGORIES;
  const until = changes[0]?.expiresAt;
  return [
    <Time at={timestamp} />,
    <>
      <button type="button" class="link" aria-haspopup="dialog" onClick={onOpen}>
        {actionOf(entry)}
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

const TONES: Readonly<Record<AuditOutcome, Tone>> = {
  success: 'good',
  partial: 'warning',
  failed: 'error',
  denied: 'error',
};

function OutcomeBadge({ outcome }: { readonly outcome: AuditOutcome }) {
  return <Badge tone={TONES[outcome] ?? 'neutral'}>{outcome}</Badge>;
}

/** Most changes that are listed. */
const MOST = 200;

interface EntryDialogProps {
  readonly entry: AuditEntry;
  /** Its fault in the chain. */
  readonly fault: string | undefined;
  readonly onClose: () => void;
}

function EntryDialog({ entry, fault, onClose }: EntryDialogProps) {
  const { identity, source, tenant, changes } = entry;
  const json = JSON.stringify(entry, undefined, 2);
  return (
    <Dialog title={actionOf(entry)} onClose={onClose}>
      <Fields
        of={{
          Time: <Time at={entry.timestamp} />,
          Result: <OutcomeBadge outcome={entry.outcome} />,
          Error: entry.error,
          Who: whoOf(entry),
          Credential: identity.method,
          Address: source?.address,
          Tenant: tenant?.name ?? tenant?.id,
          Reason: entry.reason,
          Chain: fault !== undefined && <strong class="wrong">{fault}</strong>,
        }}
      />
      {changes.length > 0 && (
        <Table
          caption="Changes"
          head={['Category', 'Before', 'After', 'Until']}
          nameOf={(category) => <a href={href('categories', category)}>{category}</a>}
          rows={changes
            .slice(0, MOST)
            .map(({ category, previousState, newState, temporary, expiresAt, otelrdcp_level: level }) => [
              category,
              [
                settingText({ enabled: previousState }),
                settingText({ enabled: newState, level }),
                expiresAt === undefined ? !temporary && 'for good' : <Time at={expiresAt} />,
              ],
            ])}
        />
      )}
      <Fields of={{ Everything: json }} />
      <CopyButton label="Copy JSON" text={() => json} />
    </Dialog>
  );
}
