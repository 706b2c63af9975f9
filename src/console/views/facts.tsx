import type { BudgetState, DiscoveredCategory } from '../../protocol/messages.ts';
import { Meter } from '../parts/meter.tsx';
import { plural, shortBytes, shortNumber } from '../parts/numbers.ts';
import { Text } from '../parts/text.tsx';
import { Time, TimeLeft } from '../parts/time.tsx';
import { changeKey, type LastChange, type LastChanges } from '../state/last-changes.ts';

/** Who switched a category last: for the tenant, or where its setting was reset, for everybody. */
export function lastChangeOf(
  changes: LastChanges,
  tenant: string | undefined,
  { name, otelrdcp_origin }: DiscoveredCategory,
): LastChange | undefined {
  if (otelrdcp_origin === 'default') return undefined;
  const own = tenant === undefined ? undefined : changes.get(changeKey(tenant, name));
  const change = own === undefined || own.action === 'reset' ? changes.get(changeKey(undefined, name)) : own;
  return change?.action === 'reset' ? undefined : change;
}

/** Who, and why. */
export function Who({ change }: { readonly change: LastChange | undefined }) {
  if (change === undefined) return null;
  return (
    <span class="who">
      <Text value={change.by} most={60} />
      {change.reason !== undefined && (
        <>
          : <Text value={change.reason} most={200} />
        </>
      )}
    </span>
  );
}

/** Until when it is so. */
export function Until({ category }: { readonly category: DiscoveredCategory }) {
  const { enabled, temporary, otelrdcp_expiresAt: until, otelrdcp_origin: origin } = category;
  if (until !== undefined) return <TimeLeft until={until} />;
  if (!enabled && origin === 'default') return null;
  return <span class="muted">{origin === 'default' ? 'by default' : temporary ? 'for a while' : 'no end'}</span>;
}

/** For whom it is on, as far as is known: everybody, and those tenants whose setting differs. */
export function Whom({
  category,
  tenant,
  differing,
}: {
  readonly category: DiscoveredCategory;
  readonly tenant: string | undefined;
  readonly differing: readonly string[];
}) {
  const { enabled, otelrdcp_origin: origin } = category;
  if (tenant !== undefined) {
    if (!enabled) return null;
    return <Text value={origin === 'tenant' ? tenant : origin === 'temporary' ? tenant : 'everybody'} most={40} />;
  }
  const names = differing.slice(0, 2).join(', ') + (differing.length > 2 ? ` and ${differing.length - 2} more` : '');
  if (differing.length === 0) return enabled ? <>everybody</> : null;
  return (
    <>
      {enabled ? 'everybody but ' : 'on for '}
      <Text value={names} most={80} />
    </>
  );
}

/** What a budget allows, and how much of it is used. */
export function Budget({ category, rate }: { readonly category: DiscoveredCategory; readonly rate: number }) {
  const { otelrdcp_budget: budget, otelrdcp_dropped: dropped } = category;
  const left = budget === undefined || budget === false ? [] : leftOf(budget);
  return (
    <>
      {budget !== undefined && budget !== false && budget.callsPerSecond !== undefined && (
        <span class="budget-rate" title="Lines a second, of those allowed in a process">
          <Meter used={rate} limit={budget.callsPerSecond} />
          {shortNumber(rate)} of {shortNumber(budget.callsPerSecond)}/s
        </span>
      )}
      {left.length > 0 && <span class="budget-left">{left.join(', ')} left</span>}
      {dropped !== undefined && dropped > 0 && (
        <span class="dropped" title="Calls whose line was not written">
          {shortNumber(dropped)} dropped
        </span>
      )}
    </>
  );
}

function leftOf({ callsLeft, bytesLeft }: BudgetState): string[] {
  return [
    ...(callsLeft === undefined ? [] : [plural(callsLeft, 'line')]),
    ...(bytesLeft === undefined ? [] : [shortBytes(bytesLeft)]),
  ];
}

export function Since({ change }: { readonly change: LastChange }) {
  return (
    <>
      since <Time at={change.at} />
    </>
  );
}
