import type { BudgetState, DiscoveredCategory, DiscoveredControl } from '../../protocol/messages.ts';
import type { EventsBudget } from '../../protocol/streams.ts';
import { counted, someOf } from '../parts/counted.ts';
import { Meter } from '../parts/meter.tsx';
import { shortBytes, shortNumber } from '../parts/numbers.ts';
import { printable } from '../parts/printable.ts';
import { Text } from '../parts/text.tsx';
import { TimeLeft } from '../parts/time.tsx';
import { isForEverybody } from '../state/intents.ts';

/** Who switched it, and why. */
export function Who({ control }: { readonly control: DiscoveredControl | undefined }) {
  if (control === undefined) return null;
  const text = `${control.userId ?? control.clientId ?? ''}${control.reason ? `: ${control.reason}` : ''}`;
  return (
    <span class="who" title={printable(text, 2000).text}>
      <Text value={text} />
    </span>
  );
}

/** Until when it is so. */
export function Until({ category }: { readonly category: DiscoveredCategory }) {
  const { enabled, temporary, otelrdcp_expiresAt: until, otelrdcp_origin: origin } = category;
  if (until !== undefined) return <TimeLeft until={until} />;
  if (!enabled && origin === 'default') return null;
  return <span class="muted">{origin === 'default' ? 'by default' : temporary ? 'for a while' : 'permanent'}</span>;
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
  const { enabled } = category;
  if (differing.length === 0) {
    if (!enabled) return null;
    return isForEverybody(category, tenant) ? 'everybody' : <Text value={tenant ?? ''} most={80} />;
  }
  return (
    <>
      {enabled ? 'everybody but ' : 'only '}
      <Text value={someOf(differing, 2)} most={80} />
    </>
  );
}

interface BudgetProps {
  readonly category: DiscoveredCategory;
  readonly rate: number;
  /** What is left of it now. */
  readonly live: EventsBudget | undefined;
}

/** What a budget allows, and how much of it is used. */
export function Budget({ category, rate, live }: BudgetProps) {
  const { otelrdcp_budget: budget } = category;
  const dropped = live?.dropped ?? category.otelrdcp_dropped;
  const left = budget ? leftOf({ ...budget, ...live }) : [];
  return (
    <>
      {budget && budget.callsPerSecond !== undefined && (
        <span class="bar tight" title="Lines a second, of those allowed in a process">
          <Meter used={rate} limit={budget.callsPerSecond} />
          {shortNumber(rate)} of {shortNumber(budget.callsPerSecond)}/s
        </span>
      )}
      {left.length > 0 && <span class="budget-left">{left.join(', ')} left</span>}
      {dropped !== undefined && dropped > 0 && (
        <span class="wrong" title="Calls whose line was not written">
          {shortNumber(dropped)} dropped
        </span>
      )}
    </>
  );
}

function leftOf({ callsLeft, bytesLeft }: BudgetState): string[] {
  return [
    ...(callsLeft === undefined ? [] : [counted(callsLeft, 'line', 'lines')]),
    ...(bytesLeft === undefined ? [] : [shortBytes(bytesLeft)]),
  ];
}
