import { isCounted } from '../../../wire/counted-calls.ts';
import type { DiscoveredCategory } from '../../../wire/messages.ts';
import { isPartlyOn } from '../../../wire/words/state.ts';
import { connection, state } from '../page.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Sparkline } from '../parts/pictures.tsx';
import { Text } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { href } from '../state/route.ts';
import { countedSince } from '../state/spans.ts';
import { Budget, Dropped, OfferButtons, OnBadge, Rate, Until, WhoAndWhy, Whom } from './facts.tsx';
import { tailOf } from './tail/running-tail.ts';

interface CategoryRowProps {
  readonly category: DiscoveredCategory;
  /** Position in the grid, from 1. */
  readonly index: number;
  readonly current: boolean;
  readonly selected: boolean;
  /** Absent where there is nothing to do with a selection. @param extend whether the rows before are meant too */
  readonly onSelect: ((extend: boolean) => void) | undefined;
}

/** Seconds of the calls that a row shows. */
const SPARK_SECONDS = 180;

/** Off, and not set: there is nothing to say but what it is. Such a row has one line. */
export function isPlain(category: DiscoveredCategory): boolean {
  const { enabled, otelrdcp_origin: origin, otelrdcp_control: control } = category;
  const { otelrdcp_activations: activations } = category;
  return !enabled && !isPartlyOn(category) && origin === 'default' && (control ?? activations) === undefined;
}

export function CategoryRow({ category, index, current, selected, onSelect }: CategoryRowProps) {
  const { name, description, enabled, otelrdcp_source: source } = category;
  const tabIndex = current ? 0 : -1;
  const isMeasured = !isCounted(category) && connection.rateOf(category) !== undefined;
  return (
    <div
      role="row"
      aria-rowindex={index}
      aria-selected={onSelect && selected}
      data-name={name}
      class={`row category ${enabled ? 'is-on' : ''} ${isPlain(category) ? 'is-plain' : ''} ${selected ? 'is-selected' : ''}`}
    >
      <div {...cell('select')}>
        {onSelect && (
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            tabIndex={tabIndex}
            checked={selected}
            onClick={(event) => onSelect(event.shiftKey)}
          />
        )}
      </div>
      <div {...cell('state')}>
        <OnBadge category={category} />
      </div>
      <div {...cell('title')} role="rowheader">
        <a class="name" href={href('categories', name)} tabIndex={tabIndex}>
          {name}
        </a>
        <span class="description">
          {source !== undefined && <Badge>{source.kind}</Badge>}
          <Text value={description} most={160} />
        </span>
      </div>
      <div {...cell('whom')}>
        <Whom category={category} />
      </div>
      <div {...cell('until')}>
        <Until category={category} />
        <WhoAndWhy category={category} />
      </div>
      <div {...cell('calls', 'bar tight')}>
        <Rate category={category} />
        {isMeasured ? (
          <span class="muted measured">
            <Ago at={state.measured.value?.at ?? 0} />
          </span>
        ) : (
          isCounted(category) && (
            <Sparkline rates={connection.history.of(name, { seconds: SPARK_SECONDS, from: countedSince(category) })} />
          )
        )}
        <Dropped category={category} />
      </div>
      <div {...cell('budget')}>
        <Budget category={category} />
      </div>
      <div {...cell('actions', 'bar tight')}>
        <OfferButtons category={category} row={{ tabIndex }} />
        {connection.mayTail && (
          <Button
            kind="quiet"
            aria-label={`Tail ${name}`}
            title="Tail"
            tabIndex={tabIndex}
            onClick={() => tailOf([name])}
          >
            <Icon name="tail" />
          </Button>
        )}
      </div>
    </div>
  );
}

/** A cell in its place, which depends on the width of the window. */
function cell(name: string, more = '') {
  return { role: 'gridcell', class: `cell ${more} ${name}`, style: { gridArea: name } } as const;
}
