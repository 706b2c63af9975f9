import type { AuditEntry } from '../../../protocol/messages.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Fields } from '../../parts/fields.tsx';
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
        <table class="figures">
          <caption class="visually-hidden">Changes</caption>
          <thead>
            <tr>
              {['Category', 'Before', 'After', 'Until'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {changes.slice(0, MOST).map(({ category, previousState, newState, temporary, expiresAt }) => (
              <tr key={category}>
                <th scope="row">
                  <a href={href('categories', category)}>{category}</a>
                </th>
                <td>{stateText(previousState)}</td>
                <td>{stateText(newState)}</td>
                <td>{expiresAt === undefined ? !temporary && 'for good' : <Time at={expiresAt} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Fields of={{ Everything: json }} />
      <CopyButton label="Copy JSON" text={() => json} />
    </Dialog>
  );
}
