import type { AuditEntry } from '../../../protocol/audit-messages.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Fields } from '../../parts/fields.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { href } from '../../state/route.ts';
import { stateText, whoOf } from './entry-text.ts';
import { OutcomeBadge } from './outcome-badge.tsx';

/** Most changes that are listed. */
const MOST = 200;

export interface EntryDialogProps {
  readonly entry: AuditEntry;
  /** What is wrong with its place in the chain. */
  readonly fault: string | undefined;
  readonly onClose: () => void;
}

export function EntryDialog({ entry, fault, onClose }: EntryDialogProps) {
  const { identity, source, tenant, changes } = entry;
  const json = JSON.stringify(entry, undefined, 2);
  return (
    <Dialog title={entry.action} onClose={onClose}>
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
            .map(({ category, previousState, newState, temporary, expiresAt }) => [
              category,
              [
                stateText(previousState),
                stateText(newState),
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
