import type { AuditEntry } from '../../../wire/audit-messages.ts';
import type { DiscoveredCategory, DiscoveredControl } from '../../../wire/messages.ts';
import { partText } from '../../../wire/words/activation.ts';
import { whoText } from '../../../wire/words/change.ts';
import { partsOf } from '../../../wire/words/state.ts';

/** Whose lines are written, or that they are only kept in memory. */
export type Reach = 'everybody' | 'tenant' | 'some' | 'recorded';

/** A category is on for somebody, from one time to another, in milliseconds since the epoch. */
export interface Span {
  readonly category: string;
  readonly reach: Reach;
  readonly whom: string;
  /** `-Infinity` where it is not known. */
  readonly from: number;
  /** The planned end, where that is to come; `Infinity` without one. */
  readonly to: number;
  readonly who: string;
}

/** What a category is on for now. On by default is not a change that ends. */
export function spansOf(category: DiscoveredCategory, everybody = 'everybody'): readonly Span[] {
  const { name, enabled, otelrdcp_origin: origin, otelrdcp_control: control, otelrdcp_expiresAt: end } = category;
  const span = (
    reach: Reach,
    whom: string,
    by: DiscoveredControl | undefined,
    expiresAt: string | undefined,
  ): Span => ({
    category: name,
    reach,
    whom,
    from: timeOf(by?.since, Number.NEGATIVE_INFINITY),
    to: timeOf(expiresAt, Number.POSITIVE_INFINITY),
    who: whoText(by ?? {}) ?? '',
  });
  const parts = partsOf(category).map(({ whom, activation, recorded, control: by, expiresAt }) =>
    span(recorded ? 'recorded' : activation === undefined ? 'tenant' : 'some', whom, by, expiresAt),
  );
  if (!enabled || origin === 'default') return parts;
  return [span(everybody === 'everybody' ? 'everybody' : 'tenant', everybody, control, end), ...parts];
}

/** What categories were on for, by the entries of the audit trail, the newest first. */
export function spansOfTrail(entries: readonly AuditEntry[]): readonly Span[] {
  const open = new Map<string, Span>();
  const over: Span[] = [];
  for (const { timestamp, action, outcome, categories, changes, tenant, identity, ...entry } of entries.toReversed()) {
    if (outcome === 'failed' || outcome === 'denied') continue;
    const at = Date.parse(timestamp);
    const { otelrdcp_activation: activation } = entry;
    const states = activation
      ? categories.map((category) => ({
          category,
          on: action === 'enable',
          was: action !== 'enable',
          until: activation.expiresAt,
        }))
      : changes.map(({ category, newState, previousState, expiresAt }) => ({
          category,
          on: newState,
          was: previousState,
          until: expiresAt,
        }));
    for (const { category, on, was, until } of states) {
      const key = `${category} ${activation?.id ?? tenant?.id ?? ''}`;
      const known = open.get(key);
      const lasts = known !== undefined && known.to >= at;
      const begun: Span = {
        category,
        reach: activation?.record ? 'recorded' : activation ? 'some' : tenant ? 'tenant' : 'everybody',
        whom:
          (activation && partText({ ...(tenant && { tenant: tenant.id }), ...activation })) ||
          tenant?.id ||
          'everybody',
        from: was ? Number.NEGATIVE_INFINITY : at,
        to: timeOf(until, Number.POSITIVE_INFINITY),
        who: whoText(identity) ?? '',
      };
      if (known !== undefined && !(on && lasts)) over.push({ ...known, to: Math.min(known.to, at) });
      if (on) open.set(key, lasts ? { ...known, to: begun.to } : begun);
      else {
        if (known === undefined && was) over.push({ ...begun, to: at, who: '' });
        open.delete(key);
      }
    }
  }
  return [...over, ...open.values()];
}

function timeOf(timestamp: string | undefined, otherwise: number): number {
  return timestamp === undefined ? otherwise : Date.parse(timestamp);
}
