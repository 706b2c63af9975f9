import { diagnostics } from '../diagnostics.ts';
import type { DropCode } from '../gate/drops.ts';
import type { AttributeFailure, Attributes, CategoryDescriptor, Described } from '../gate/types.ts';
import { timestamp } from '../protocol/time.ts';
import { ATTR_CATEGORY_NAME, ATTR_DROPPED_COUNT, ATTR_DROPPED_SINCE } from '../semconv.ts';
import { type BuiltAttributes, buildAttributes, withError } from './attributes.ts';
import type { Budget } from './budget.ts';
import type { Budgets, Surplus } from './budgets.ts';
import { messageText } from './message.ts';
import type { Outputs } from './outputs.ts';
import type { Call } from './record.ts';
import type { Redacts } from './redaction.ts';
import type { Tap, Taps } from './taps.ts';

type Given = Attributes | (() => Attributes) | undefined;
type Outcome = AttributeFailure | DropCode | undefined;

/** The composed processing of a category's calls. */
export type Route = (message: string, given: Given, tenantId: string | undefined) => Outcome;

/** The composed admission of lines that the caller writes itself. @returns why the line must not be written */
export type Passage = (text: string, describe: () => Described, bytes: number, tenantId: string | undefined) => Outcome;

export interface PipelineParts {
  readonly budgets: Budgets;
  readonly redacts: Redacts;
  readonly outputs: Pick<Outputs, 'current'>;
  readonly taps: Pick<Taps, 'of'>;
}

interface Built {
  readonly call: Call;
  readonly failure: AttributeFailure | undefined;
}

export interface Pipeline {
  /** Composes only what applies to the category now: budget, attributes, redaction, taps, outputs. */
  compose(category: CategoryDescriptor): Route;
  /** Serves the taps of a category that is off in this context. */
  tap(
    category: CategoryDescriptor,
    message: string,
    given: Given,
    tenantId: string | undefined,
  ): AttributeFailure | undefined;
  /** The same for lines that the caller writes itself: budget and taps. */
  composePassage(category: CategoryDescriptor): Passage;
  /** Writes the record about calls that the budget dropped. */
  warn(category: Pick<CategoryDescriptor, 'name'>, surplus: Surplus): void;
}

/** Outputs modify the attributes, which a tap may have kept. */
function copyOf(call: Call): Call {
  return { ...call, attributes: { ...call.attributes } };
}

export function createPipeline({ budgets, redacts, outputs, taps }: PipelineParts): Pipeline {
  function build({ name }: CategoryDescriptor, message: string, given: Given, tenantId: string | undefined): Built {
    const plain = typeof message === 'string';
    const built: BuiltAttributes = buildAttributes(name, plain ? given : withError(message, given), redacts);
    const text = messageText(message, redacts);
    const { attributes, simple, failure } = built;
    const bytes = built.bytes + text.length;
    return { call: { severity: 'DEBUG', message: text, attributes, simple, tenantId, bytes }, failure };
  }

  /** Passes the call to each tap that wants it. A tap that throws affects no other output. */
  function give(wanting: readonly Tap[], category: CategoryDescriptor, call: Call): void {
    for (const tap of wanting) {
      try {
        tap.take(category, call);
      } catch (error) {
        diagnostics.error('rdcp: a tap of debug calls failed', error);
      }
    }
  }

  const wanting = (category: CategoryDescriptor, tenantId: string | undefined) =>
    taps.of(category).filter((tap) => tap.matches(tenantId) && tap.admits());

  function emit(
    category: CategoryDescriptor,
    { budget, wanted }: { readonly budget: Budget | undefined; readonly wanted: readonly Tap[] },
    message: string,
    given: Given,
    tenantId: string | undefined,
  ): Outcome {
    const dropped = budget?.admit(message);
    if (dropped !== undefined && wanted.length === 0) return dropped;
    const { call, failure } = build(category, message, given, tenantId);
    give(wanted, category, call);
    if (dropped !== undefined) return dropped;
    const own = wanted.length === 0 ? call : copyOf(call);
    const outcome = outputs.current()(own);
    if (outcome === undefined) budget?.spend(own.bytes);
    return outcome ?? failure;
  }

  return {
    compose(category) {
      const budget = budgets.of(category);
      const ofTenants = budgets.ofTenants(category);
      const tapped = taps.of(category).length > 0;
      if (!tapped && ofTenants === undefined) {
        const fixed = { budget, wanted: [] };
        return (message, given, tenantId) => emit(category, fixed, message, given, tenantId);
      }
      return (message, given, tenantId) => {
        const own = tenantId !== undefined && ofTenants?.has(tenantId) === true;
        const parts = {
          budget: own ? ofTenants?.get(tenantId) : budget,
          wanted: tapped ? wanting(category, tenantId) : [],
        };
        return emit(category, parts, message, given, tenantId);
      };
    },
    tap(category, message, given, tenantId) {
      const wanted = wanting(category, tenantId);
      if (wanted.length === 0) return undefined;
      const { call, failure } = build(category, message, given, tenantId);
      give(wanted, category, call);
      if (wanted.some(({ logs }) => logs === true)) outputs.current()(copyOf(call));
      return failure;
    },
    composePassage(category) {
      const budget = budgets.of(category);
      const ofTenants = budgets.ofTenants(category);
      const tapped = taps.of(category).length > 0;
      function admit(own: Budget | undefined, text: string, bytes: number): DropCode | undefined {
        const dropped = own?.admit(text);
        if (dropped === undefined) own?.spend(bytes);
        return dropped;
      }
      if (!tapped && ofTenants === undefined) return (text, _describe, bytes) => admit(budget, text, bytes);
      return (text, describe, bytes, tenantId) => {
        const own = tenantId !== undefined && ofTenants?.has(tenantId) === true;
        const dropped = admit(own ? ofTenants?.get(tenantId) : budget, text, bytes);
        const wanted = tapped ? wanting(category, tenantId) : [];
        if (wanted.length === 0) return dropped;
        let failure: AttributeFailure | undefined;
        try {
          const { message, attributes } = describe();
          const built = build(category, message, attributes, tenantId);
          give(wanted, category, built.call);
          failure = built.failure;
        } catch (error) {
          failure = { error };
        }
        return dropped ?? failure;
      };
    },
    warn({ name }, { dropped, since }) {
      const from = timestamp(since);
      try {
        outputs.current()({
          severity: 'WARN',
          message: `${dropped} debug calls since ${from} were dropped: over the budget`,
          attributes: { [ATTR_CATEGORY_NAME]: name, [ATTR_DROPPED_COUNT]: dropped, [ATTR_DROPPED_SINCE]: from },
          simple: true,
          tenantId: undefined,
          bytes: 0,
        });
      } catch (error) {
        diagnostics.error('rdcp: a record about dropped debug calls failed', error);
      }
    },
  };
}
