import type { AuditEntry } from '../../../protocol/messages.ts';
import { Badge } from '../../parts/badge.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Fields } from '../../parts/fields.tsx';
import { LongText } from '../../parts/long-text.tsx';
import { Text } from '../../parts/text.tsx';
import { Time } from '../../parts/time.tsx';
import { href } from '../../state/route.ts';
import type { ChainState } from './chain-check.ts';
import { stateText } from './entry-text.ts';
import { OutcomeBadge } from './outcome-badge.tsx';

/** Most changes that are listed. */
const MOST = 200;

export interface EntryDialogProps {
  readonly entry: AuditEntry;
  readonly chain: ChainState | undefined;
  readonly onClose: () => void;
}

export function EntryDialog({ entry, chain, onClose }: EntryDialogProps) {
  const { identity, source, tenant, compliance, changes, categories } = entry;
  const optional = (value: string | undefined) => value !== undefined && <Text value={value} />;
  const isChanged = chain?.changed.includes(entry.id) === true;
  const isUnlinked = chain?.unlinked.includes(entry.id) === true;
  return (
    <Dialog title={`${entry.action}: audit entry`} onClose={onClose}>
      <Fields
        of={{
          Time: <Time at={entry.timestamp} />,
          Result: (
            <>
              <OutcomeBadge outcome={entry.outcome} /> {optional(entry.error)}
            </>
          ),
          User: optional(identity.userId),
          Client: optional(identity.clientId),
          Credential: optional(identity.method),
          Scopes: optional(identity.scopes?.join(', ')),
          Session: optional(identity.sessionId),
          Address: optional(source?.address),
          'User agent': optional(source?.userAgent),
          Tenant: tenant && (
            <>
              <Text value={tenant.id} /> {tenant.name !== undefined && <Text value={tenant.name} />}
            </>
          ),
          Reason: entry.reason !== undefined && <LongText value={entry.reason} />,
          Times: entry.count?.toLocaleString(),
          Budget: entry.otelrdcp_budget !== undefined && <code>{JSON.stringify(entry.otelrdcp_budget)}</code>,
          Tail: entry.otelrdcp_tail !== undefined && <code>{JSON.stringify(entry.otelrdcp_tail)}</code>,
          Request: optional(entry.requestId),
        }}
      />
      {changes.length > 0 ? (
        <div class="table-scroll">
          <table>
            <caption class="visually-hidden">Changes</caption>
            <thead>
              <tr>
                <th scope="col">Category</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
                <th scope="col">Until</th>
              </tr>
            </thead>
            <tbody>
              {changes.slice(0, MOST).map((change) => (
                <tr key={change.category}>
                  <th scope="row">
                    <a href={href('categories', change.category)}>{change.category}</a>
                  </th>
                  <td>{stateText(change.previousState)}</td>
                  <td>{stateText(change.newState)}</td>
                  <td>
                    {change.expiresAt !== undefined ? (
                      <Time at={change.expiresAt} />
                    ) : change.temporary ? (
                      ''
                    ) : (
                      'for good'
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {changes.length > MOST && <p class="muted">and {changes.length - MOST} more</p>}
        </div>
      ) : (
        categories.length > 0 && (
          <p class="wrap">
            {categories.slice(0, MOST).map((name) => (
              <a key={name} href={href('categories', name)}>
                {name}
              </a>
            ))}
          </p>
        )
      )}
      <Fields
        of={{
          Chain: (
            <>
              <Text value={compliance.instanceId} />, entry {compliance.sequence ?? '—'}{' '}
              {isChanged && <Badge tone="error">content does not match its hash</Badge>}
              {isUnlinked && <Badge tone="error">does not link to the entry before</Badge>}
            </>
          ),
          Hash: compliance.hash !== undefined && <code class="hash">{compliance.hash}</code>,
          'Hash before': compliance.previousHash !== undefined && <code class="hash">{compliance.previousHash}</code>,
          Signature: compliance.signature && <Text value={`by key ${compliance.signature.keyId}`} />,
          'Kept until': compliance.retainUntil !== undefined && <Time at={compliance.retainUntil} />,
          Id: <Text value={entry.id} />,
        }}
      />
      <CopyButton label="Copy JSON" text={() => JSON.stringify(entry, undefined, 2)} />
    </Dialog>
  );
}
