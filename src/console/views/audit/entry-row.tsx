import type { AuditEntry } from '../../../protocol/messages.ts';
import { Text } from '../../parts/text.tsx';
import { Time } from '../../parts/time.tsx';
import { href } from '../../state/route.ts';
import { changesText, whoOf } from './entry-text.ts';
import { OutcomeBadge } from './outcome-badge.tsx';

/** Of a row, in pixels. */
export const ENTRY_HEIGHT = 44;
/** Categories that a row names. */
const MOST_CATEGORIES = 2;

export function EntryRow({
  entry,
  isBad = false,
  onOpen,
}: {
  readonly entry: AuditEntry;
  readonly isBad?: boolean;
  readonly onOpen: () => void;
}) {
  const { categories, tenant } = entry;
  const more = categories.length - MOST_CATEGORIES;
  const until = entry.changes[0]?.expiresAt;
  return (
    <div class={`line audit-row ${isBad ? 'broken' : ''}`}>
      <Time at={entry.timestamp} />
      <span class="action">
        <button type="button" class="link" aria-haspopup="dialog" onClick={onOpen}>
          {entry.action}
        </button>
        {entry.outcome !== 'success' && <OutcomeBadge outcome={entry.outcome} />}
        {entry.count !== undefined && <span class="muted">× {entry.count.toLocaleString()}</span>}
      </span>
      <span class="names">
        {categories.slice(0, MOST_CATEGORIES).map((name) => (
          <a key={name} href={href('categories', name)}>
            {name}
          </a>
        ))}
        {more > 0 && <span class="muted">+{more}</span>}
      </span>
      <span class="change">
        {changesText(entry.changes)}{' '}
        {until !== undefined && (
          <span class="muted">
            until <Time at={until} />
          </span>
        )}{' '}
        {tenant && <Text value={tenant.name ?? tenant.id} most={40} />}
      </span>
      <span class="who">
        <Text value={whoOf(entry)} most={80} />
      </span>
      <span class="reason">{entry.reason !== undefined && <Text value={entry.reason} most={200} />}</span>
    </div>
  );
}
