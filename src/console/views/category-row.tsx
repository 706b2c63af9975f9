import type { DiscoveredCategory } from '../../protocol/messages.ts';
import type { EventsBudget } from '../../protocol/streams.ts';
import { Badge } from '../parts/badge.tsx';
import { shortNumber } from '../parts/numbers.ts';
import { Sparkline } from '../parts/sparkline.tsx';
import { Text } from '../parts/text.tsx';
import type { Intent } from '../state/change.ts';
import { intentsOf } from '../state/intents.ts';
import { href } from '../state/route.ts';
import { Budget, Until, Who, Whom } from './facts.tsx';
import { OnBadge } from './on-badge.tsx';

interface CategoryRowProps {
  readonly category: DiscoveredCategory;
  /** Position in the grid, from 1. */
  readonly index: number;
  readonly current: boolean;
  readonly selected: boolean;
  readonly maySwitch: boolean;
  readonly rate: number;
  readonly live: EventsBudget | undefined;
  readonly rates: Float32Array;
  readonly tenant: string | undefined;
  readonly differing: readonly string[];
  readonly onSelect: () => void;
  readonly onAsk: (intent: Intent) => void;
}

export function CategoryRow(props: CategoryRowProps) {
  const { category, index, current, selected, maySwitch, rate, rates, tenant, differing } = props;
  const { name, description, enabled, otelrdcp_source: source } = category;
  const tabIndex = current ? 0 : -1;
  return (
    <div
      role="row"
      aria-rowindex={index}
      aria-selected={maySwitch ? selected : undefined}
      data-name={name}
      class={`row category ${enabled ? 'is-on' : ''} ${selected ? 'is-selected' : ''}`}
    >
      <div role="gridcell" class="cell select">
        {maySwitch && (
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            tabIndex={tabIndex}
            checked={selected}
            onChange={props.onSelect}
          />
        )}
      </div>
      <div role="gridcell" class="cell state">
        <OnBadge enabled={enabled} differs={differing.length > 0} />
      </div>
      <div role="rowheader" class="cell title">
        <a class="name" href={href('categories', name)} tabIndex={tabIndex}>
          {name}
        </a>
        <span class="description">
          {source !== undefined && <Badge>{source.kind}</Badge>}
          <Text value={description} most={160} />
        </span>
      </div>
      <div role="gridcell" class="cell whom">
        <Whom category={category} tenant={tenant} differing={differing} />
      </div>
      <div role="gridcell" class="cell until">
        <Until category={category} />
        <Who control={category.otelrdcp_control} />
      </div>
      <div role="gridcell" class="cell bar tight calls">
        <span class="rate">
          {shortNumber(rate)}
          <span class="muted">/s</span>
        </span>
        <Sparkline rates={rates} />
      </div>
      <div role="gridcell" class="cell budget">
        <Budget category={category} rate={rate} live={props.live} />
      </div>
      <div role="gridcell" class="cell bar tight actions">
        {maySwitch &&
          intentsOf(category, tenant).map(([intent, text]) => (
            <button
              key={intent}
              type="button"
              class={`button ${intent === 'end' || intent === 'disable' ? 'danger' : 'plain'}`}
              aria-label={`${text.replace('…', '')} ${name}`}
              tabIndex={tabIndex}
              onClick={() => props.onAsk(intent)}
            >
              {text}
            </button>
          ))}
      </div>
    </div>
  );
}
