import type { BudgetState, DiscoveredCategory, DiscoveredControl } from '../../../wire/messages.ts';
import { capitalized, counted } from '../../../wire/words/count.ts';
import { levelText } from '../../../wire/words/level.ts';
import { countOfParts, endOf, isPartlyOn, isRecorded, partsOf, stateOf, whomOf } from '../../../wire/words/state.ts';
import { connection, state } from '../page.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { printable, shortBytes, shortNumber } from '../parts/format.ts';
import { Text } from '../parts/text.tsx';
import { Time, TimeLeft } from '../parts/time.tsx';
import { isEnding, isForEverybody } from '../state/intents.ts';

interface OfferButtonsProps {
  readonly category: DiscoveredCategory;
  /** In a row of a list: the buttons name the category, and the keys of the list reach them. */
  readonly row?: { readonly tabIndex: number };
}

/** A button for each change that the category offers. */
export function OfferButtons({ category, row }: OfferButtonsProps) {
  const { name, enabled } = category;
  return connection.offers(category).map(([intent, text], at) => (
    <Button
      key={intent}
      kind={isEnding(intent) && (enabled || intent !== 'disable') ? 'danger' : at === 0 && !row ? 'primary' : 'plain'}
      {...(row && { ...row, 'aria-label': `${text.replace('…', '')} ${name}` })}
      onClick={() => connection.ask(intent, [name])}
    >
      {text}
    </Button>
  ));
}

/** The person who switched it, and the reason. */
export function Who({ control }: { readonly control: DiscoveredControl | undefined }) {
  if (control === undefined) return null;
  const text = `${control.userId ?? control.clientId ?? ''}${control.reason ? `: ${control.reason}` : ''}`;
  return (
    <span class="who" title={printable(text, 2000).text}>
      <Text value={text} />
    </span>
  );
}

/**
 * The end of the present setting, and its level; of the first one, where a category is on for some tenants or some work
 * alone.
 */
export function Until({ category }: { readonly category: DiscoveredCategory }) {
  const { otelrdcp_level: level } = category;
  return (
    <>
      <End category={category} />
      {level !== undefined && <span class="muted"> {levelText(level)}</span>}
    </>
  );
}

function End({ category }: { readonly category: DiscoveredCategory }) {
  const { enabled, temporary, otelrdcp_origin: origin, otelrdcp_control: control } = category;
  const until = endOf(category);
  if (until !== undefined) return <TimeLeft until={until} />;
  if (!enabled && origin === 'default' && !isPartlyOn(category)) return null;
  if (origin === 'default' && enabled) return <span class="muted">by default</span>;
  return (
    <span class="muted">
      {temporary ? 'for a while' : 'permanent'}
      {control && (
        <>
          , since <Time at={control.since} />
        </>
      )}
    </span>
  );
}

/** Who switched it and why. Of several parts that it is on for, how many there are. */
export function WhoAndWhy({ category }: { readonly category: DiscoveredCategory }) {
  const recorded = isRecorded(category) && !isPartlyOn(category);
  const parts = partsOf(category).filter((part) => recorded || !part.recorded);
  const count = recorded ? parts.length : countOfParts(category);
  if (!isPartlyOn(category) && (!recorded || count === 0)) return <Who control={category.otelrdcp_control} />;
  if (count === 1) return <Who control={parts[0]?.control} />;
  return (
    <span class="who" title={printable(parts.map(({ whom }) => whom).join('\n'), 2000).text}>
      the first of {count}
    </span>
  );
}

/** For whom it is on. */
export function Whom({ category }: { readonly category: DiscoveredCategory }) {
  const { shownTenant: tenant = '' } = connection;
  const text = whomOf(category, isForEverybody(category, connection.shownTenant) ? 'everybody' : tenant);
  return text === '' ? null : (
    <span title={printable(text, 2000).text}>
      <Text value={text} />
    </span>
  );
}

/** Calls a second; `-` where they are not measured. */
export function Rate({ category }: { readonly category: DiscoveredCategory }) {
  const rate = connection.rateOf(category);
  return (
    <span class="rate">
      {rate === undefined ? '-' : shortNumber(rate)}
      {rate !== undefined && <span class="muted">/s</span>}
    </span>
  );
}

/** The limits of a budget, and how much of them is used. */
export function Budget({ category }: { readonly category: DiscoveredCategory }) {
  const { otelrdcp_budget: budget } = category;
  const rates = state.rates.value;
  const rate = rates && connection.rateOf(category);
  const { callsLeft, bytesLeft }: BudgetState = budget ? { ...budget, ...rates?.budgets?.[category.name] } : {};
  const left = [
    callsLeft !== undefined && counted(callsLeft, 'line'),
    bytesLeft !== undefined && shortBytes(bytesLeft),
  ].filter(Boolean);
  // The calls are those of all processes, and each process has limits of its own.
  const { counted: processes = 1 } = rates?.instances ?? {};
  const isFleet = processes > 1;
  return (
    <>
      {budget && budget.callsPerSecond !== undefined && (
        <span class="bar tight" title="Calls a second, of the lines that are allowed">
          {rate !== undefined && <meter aria-hidden="true" value={rate} max={processes * budget.callsPerSecond} />}
          {rate === undefined ? '-' : shortNumber(rate)} of {isFleet && `${processes} × `}
          {shortNumber(budget.callsPerSecond)}/s
        </span>
      )}
      {left.length > 0 && (
        <span class="budget-left" title={isFleet ? 'Each process counts its own: this is the one that answers' : ''}>
          {left.join(', ')} left{isFleet && ' here'}
        </span>
      )}
    </>
  );
}

/** Calls whose line was not written, where there are any. */
export function Dropped({ category }: { readonly category: DiscoveredCategory }) {
  const dropped = state.rates.value?.budgets?.[category.name]?.dropped ?? category.otelrdcp_dropped ?? 0;
  if (dropped === 0) return null;
  return (
    <span class="wrong" title="Calls whose line was not written">
      {shortNumber(dropped)} dropped
    </span>
  );
}

/** The state of a category; partly when it is off for everybody and on for a tenant or some work. */
export function OnBadge({ category }: { readonly category: DiscoveredCategory }) {
  const { enabled, otelrdcp_level: level } = category;
  const { otelrdcp_activations: activations = [], otelrdcp_settings: settings } = category;
  const records = settings === undefined && activations.every(({ when, record }) => when ?? record);
  if (isPartlyOn(category)) return <Badge tone="one-tenant">{records ? 'Failures' : 'Partly'}</Badge>;
  const text = isRecorded(category) ? 'recorded' : stateOf({ enabled, level });
  return <Badge tone={enabled ? 'on' : 'off'}>{capitalized(text)}</Badge>;
}
