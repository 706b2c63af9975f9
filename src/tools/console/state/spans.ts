import type { AuditEntry } from '../../../wire/audit-messages.ts';
import { isCounted } from '../../../wire/counted-calls.ts';
import type { DiscoveredCategory } from '../../../wire/messages.ts';
import { partText } from '../../../wire/words/activation.ts';
import { whoText } from '../../../wire/words/change.ts';
import { type Part, partsOf } from '../../../wire/words/state.ts';

/** A category is on for somebody, from one time to another, in milliseconds since the epoch. */
export interface Span {
  readonly category: string;
  /** Whose lines are written, or that they are only kept in memory. */
  readonly reach: 'everybody' | 'tenant' | 'some' | 'recorded';
  readonly whom: string;
  /** `-Infinity` where it is not known. */
  readonly from: number;
  /** The planned end, where that is to come; `Infinity` without one. */
  readonly to: number;
  readonly who: string;
}

/** What a category is on for now. On by default is not a change that ends. */
export function spansOf(category: DiscoveredCategory, tenant?: string): readonly Span[] {
  const { name, enabled, otelrdcp_origin: origin, otelrdcp_control: control, otelrdcp_expiresAt: expiresAt } = category;
  const all: Part = { whom: tenant ?? 'everybody', tenant, expiresAt, control };
  return [...(enabled && origin !== 'default' ? [all] : []), ...partsOf(category)].map((part) => ({
    category: name,
    reach: part.recorded ? 'recorded' : part.activation ? 'some' : part.tenant ? 'tenant' : 'everybody',
    whom: part.whom,
    from: begunAt(part),
    to: endOf(part),
    who: whoText(part.control ?? {}) ?? '',
  }));
}

/** Since when its calls are counted, in milliseconds since the epoch; `Infinity` while they are not. */
export function countedSince(category: DiscoveredCategory): number {
  const { enabled, otelrdcp_control: control, otelrdcp_activations: activations = [] } = category;
  const counted = activations.filter((each) => isCounted({ enabled: false, otelrdcp_activations: [each] }));
  const parts = partsOf({ ...category, otelrdcp_activations: counted });
  return Math.min(...[...(enabled ? [{ control }] : []), ...parts].map(begunAt));
}

/** What categories were on for, by the entries of the audit trail, the newest first. */
export function spansOfTrail(entries: readonly AuditEntry[]): readonly Span[] {
  const open = new Map<string, Span>();
  const over: Span[] = [];
  for (const { timestamp, action, outcome, categories, changes, tenant, identity, ...entry } of entries.toReversed()) {
    if (outcome === 'failed' || outcome === 'denied') continue;
    const at = Date.parse(timestamp);
    const { otelrdcp_activation: activation } = entry;
    const on = action === 'enable';
    const made = activation
      ? categories.map((category) => ({ category, newState: on, previousState: !on, expiresAt: activation.expiresAt }))
      : changes;
    for (const { category, newState, previousState, expiresAt } of made) {
      const key = `${category} ${activation?.id ?? tenant?.id ?? ''}`;
      const known = open.get(key);
      const part = activation && partText({ ...(tenant && { tenant: tenant.id }), ...activation });
      const begun: Span = {
        category,
        reach: activation?.record ? 'recorded' : activation ? 'some' : tenant ? 'tenant' : 'everybody',
        whom: part || tenant?.id || 'everybody',
        from: previousState ? Number.NEGATIVE_INFINITY : at,
        to: newState ? endOf({ expiresAt }) : at,
        who: newState ? (whoText(identity) ?? '') : '',
      };
      // One that is extended keeps its beginning.
      const lasts = known !== undefined && known.to >= at;
      if (known !== undefined && !(newState && lasts)) over.push({ ...known, to: Math.min(known.to, at) });
      if (newState) open.set(key, lasts ? { ...known, to: begun.to } : begun);
      else if (!open.delete(key) && previousState) over.push(begun);
    }
  }
  return [...over, ...open.values()];
}

/** On by default, or by whom this reader may not know, is on since ever. */
function begunAt({ control }: Pick<Part, 'control'>): number {
  return control === undefined ? Number.NEGATIVE_INFINITY : Date.parse(control.since);
}

function endOf({ expiresAt }: { readonly expiresAt?: string | undefined }): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}
