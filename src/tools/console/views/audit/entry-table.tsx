import { useState } from 'preact/hooks';
import type { AuditEntry, AuditOutcome } from '../../../../wire/audit-messages.ts';
import { partText } from '../../../../wire/words/activation.ts';
import { settingText } from '../../../../wire/words/level.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { CopyButton } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Fields, LongTable, Table } from '../../parts/tables.tsx';
import { Text } from '../../parts/text.tsx';
import { Time } from '../../parts/time.tsx';
import { href } from '../../state/route.ts';
import { actionText, changesText, whoOf } from './entry-text.ts';

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
          items={entries}
          keyOf={({ id }) => id}
          classOf={(entry) => (faultOf(entry) === undefined ? '' : 'broken')}
          columns={{
            Time: ({ timestamp }) => <Time at={timestamp} />,
            Action: (entry) => (
              <>
                {entry.outcome !== 'success' && (
                  <>
                    <OutcomeBadge outcome={entry.outcome} />{' '}
                  </>
                )}
                <button type="button" class="link" aria-haspopup="dialog" onClick={() => setOpened(entry)}>
                  {actionText(entry)}
                </button>{' '}
                {entry.count !== undefined && <span class="muted">× {entry.count.toLocaleString()}</span>}
              </>
            ),
            Categories: ({ categories }) => (
              <>
                {categories.slice(0, MOST_CATEGORIES).map((name) => (
                  <span key={name}>
                    <a href={href('categories', name)}>{name}</a>{' '}
                  </span>
                ))}
                {categories.length > MOST_CATEGORIES && (
                  <span class="muted">+{categories.length - MOST_CATEGORIES}</span>
                )}
              </>
            ),
            'For whom': ({ tenant, categories, otelrdcp_activation: activation }) => {
              const part = [tenant?.name ?? tenant?.id, activation && partText(activation)].filter(Boolean).join(', ');
              return part === '' ? categories.length > 0 && 'everybody' : <Text value={part} most={40} />;
            },
            Change: ({ changes }) => (
              <>
                {changesText(changes)}{' '}
                {changes[0]?.expiresAt !== undefined && (
                  <span class="muted">
                    until <Time at={changes[0].expiresAt} />
                  </span>
                )}
              </>
            ),
            Who: (entry) => <Text value={whoOf(entry)} most={80} />,
            Reason: ({ reason = '' }) => <Text value={reason} most={200} />,
          }}
        />
      )}
      {opened && <EntryDialog entry={opened} fault={faultOf(opened)} onClose={() => setOpened(undefined)} />}
    </>
  );
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
    <Dialog title={actionText(entry)} onClose={onClose}>
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
          label="Changes"
          items={changes.slice(0, MOST)}
          keyOf={({ category }) => category}
          columns={{
            Category: ({ category }) => <a href={href('categories', category)}>{category}</a>,
            Before: ({ previousState }) => settingText({ enabled: previousState }),
            After: ({ newState, otelrdcp_level: level }) => settingText({ enabled: newState, level }),
            Until: ({ expiresAt, temporary }) =>
              expiresAt === undefined ? !temporary && 'for good' : <Time at={expiresAt} />,
          }}
        />
      )}
      <Fields of={{ Everything: json }} />
      <CopyButton label="Copy JSON" text={() => json} />
    </Dialog>
  );
}
