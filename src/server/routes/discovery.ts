import type { Clock } from '../../clock.ts';
import type { CategoryView, ControlPlane } from '../../control/types.ts';
import type { Measurements } from '../../metrics/types.ts';
import type { BudgetState, DiscoveredCategory, DiscoveredControl, DiscoveredSource } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import { type Handler, required, type Tenancy } from '../steps.ts';
import { measured, visibleCalls } from './calls.ts';
import { openingMembers } from './opening.ts';

/** What categories may emit. */
export interface Budgets {
  /** `undefined` when nothing is limited. */
  stateOf(category: { readonly index: number; readonly name: string }, tenantId?: string): BudgetState | undefined;
  /** Configured calls per second of a category; `undefined` when unlimited. */
  configuredRate(name: string): number | undefined;
  /** Calls of a category whose output was dropped. */
  dropped(index: number): number;
}

interface Sources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly budgets?: Budgets | undefined;
  readonly sourceOf?: SourceOf | undefined;
  readonly clock: Clock;
}

/** Returns the logger of another library that a category controls. */
export type SourceOf = (category: string) => DiscoveredSource | undefined;

interface WrittenCategory {
  readonly view: CategoryView;
  /** The category as JSON, without its last member, the measurements. */
  readonly json: string;
}

/**
 * `GET /rdcp/v1/discovery`: every category with its state and what it emitted. With thousands of categories most of the
 * answer stays the same between changes, so that part is cached as JSON.
 */
export function discovery({ plane, measurements, budgets, sourceOf, clock }: Sources): Handler {
  const written = new WeakMap<readonly CategoryView[], readonly WrittenCategory[]>();

  function categoriesOf(views: readonly CategoryView[]): readonly WrittenCategory[] {
    const known = written.get(views);
    if (known !== undefined) return known;
    const categories = views.map(write);
    written.set(views, categories);
    return categories;
  }

  return (ctx) => {
    const tenancy = required(ctx, 'tenancy');
    const calls = visibleCalls(tenancy, measurements);
    // Computed from the parts shown, so that they always agree.
    let totalCalls = 0;
    let totalPerSecond = 0;
    let categories = '';
    let breakdown = '';
    for (const { view, json } of categoriesOf(plane.view(tenancy.scope))) {
      const { index, name } = view;
      const { callsTotal, callsPerSecond } = measured(index, calls);
      const separator = categories === '' ? '' : ',';
      const limits = budgets === undefined ? '' : limitMembers(view, tenancy, budgets);
      const source = sourceOf?.(name);
      const origin = source === undefined ? '' : `,"otelrdcp_source":${JSON.stringify(source)}`;
      categories += `${separator}${json}{"callsTotal":${callsTotal},"callsPerSecond":${callsPerSecond}}${limits}${origin}}`;
      breakdown += `${separator}"${name}":${callsTotal}`;
      totalCalls += callsTotal;
      totalPerSecond += callsPerSecond;
    }
    const totals = `"totalCalls":${totalCalls},"callsPerSecond":${totalPerSecond}`;
    const performance = `{${totals},"categoryBreakdown":{${breakdown}}}`;
    return { body: `{${openingMembers(ctx, clock)},"categories":[${categories}],"performance":${performance}}` };
  };
}

/**
 * The budget of an enabled category, `false` for none, and what it dropped, even after a control has ended. Isolated
 * tenants see none of the process's figures, which would reveal other tenants' load.
 */
export function limitsOf(view: CategoryView, tenancy: Tenancy, budgets: Budgets): Limits {
  return {
    budget: view.enabled ? budgetOf(view, tenancy, budgets) : undefined,
    dropped: tenancy.callsOf === undefined ? budgets.dropped(view.index) : 0,
  };
}

interface Limits {
  readonly budget: BudgetState | false | undefined;
  readonly dropped: number;
}

function limitMembers(view: CategoryView, tenancy: Tenancy, budgets: Budgets): string {
  const { budget, dropped } = limitsOf(view, tenancy, budgets);
  const state =
    budget === undefined
      ? `,"otelrdcp_configuredBudget":${configuredOf(view, budgets)}`
      : `,"otelrdcp_budget":${JSON.stringify(budget)}`;
  return `${state}${dropped > 0 ? `,"otelrdcp_dropped":${dropped}` : ''}`;
}

function configuredOf({ name }: CategoryView, budgets: Budgets): string {
  const callsPerSecond = budgets.configuredRate(name);
  return callsPerSecond === undefined ? 'false' : `{"callsPerSecond":${callsPerSecond}}`;
}

function budgetOf(view: CategoryView, { scope, callsOf }: Tenancy, budgets: Budgets): BudgetState | false {
  const { callsLeftNow, ...state } = budgets.stateOf(view, scope.tenantId) ?? {};
  const shown = callsOf === undefined && callsLeftNow !== undefined ? { ...state, callsLeftNow } : state;
  return Object.keys(shown).length > 0 && shown;
}

/** The state of a category. */
export function described(view: CategoryView): Omit<DiscoveredCategory, 'metrics'> {
  return {
    name: view.name,
    description: view.description,
    enabled: view.enabled,
    temporary: view.temporary,
    otelrdcp_default: view.defaultEnabled,
    otelrdcp_origin: view.origin,
    ...(view.expiresAt !== undefined && { otelrdcp_expiresAt: timestamp(view.expiresAt) }),
    ...(view.by !== undefined && { otelrdcp_control: controlOf(view.by) }),
  };
}

function controlOf({ at, ...who }: NonNullable<CategoryView['by']>): DiscoveredControl {
  return { ...who, since: timestamp(at) };
}

function write(view: CategoryView): WrittenCategory {
  return { view, json: `${JSON.stringify(described(view)).slice(0, -1)},"metrics":` };
}
