import type { ControlDocument, DocumentControl } from '../../access/tickets/verify.ts';
import type { Part } from '../../calls/emit/selection.ts';
import type { ControlBudget } from '../../wire/messages.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';
import type { Isolation } from '../tenancy/isolation.ts';
import type { CommandContext, ControlPlane } from '../types.ts';
import type { ActiveControl } from './follower.ts';

export interface DocumentControlsOptions {
  readonly plane: Pick<ControlPlane, 'control'>;
  /** @throws {RdcpError} for what cannot be matched or evaluated */
  readonly check: (part: Pick<Part, 'match' | 'filter'>) => Promise<void>;
  readonly isolation: Pick<Isolation, 'scopeOf' | 'contextOf'>;
  /** Configured calls per second of a category; `undefined` when unlimited. */
  readonly configuredRate: (category: string) => number | undefined;
  /** Longest control, in seconds. */
  readonly maxDuration: number;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Makes controls of documents into activations, beside the settings of operators, which a document must neither shorten nor end.
 * The store keeps what was made for as long as the control may last: the processes that share it make it once, also after a restart.
 */
export function documentControls({
  plane,
  check,
  isolation,
  configuredRate,
  maxDuration,
  clock,
}: DocumentControlsOptions) {
  return async (document: ControlDocument, place: number): Promise<ActiveControl> => {
    const { id, issuer, by = issuer, controls } = document;
    const { categories, options, tenantId, expiresAt } = controls[place] as DocumentControl;
    const { otelrdcp_target: target = {}, otelrdcp_filter: filter, otelrdcp_budget: budget, ...rest } = options;
    const scope = isolation.scopeOf(tenantId);
    // Never for everybody what was meant for one.
    if (scope.tenantId !== tenantId) throw CHANGE_REFUSALS.noTenants();
    await check({ match: target.match, filter });
    const tenant = isolation.contextOf(tenantId);
    const context: CommandContext = {
      scope,
      ...(tenant && { tenant }),
      identity: { userId: by, clientId: issuer },
      requestId: id,
    };
    const keyOf = (what: string) => JSON.stringify(['document', issuer, id, place, what]);
    const { response } = await plane.control(
      {
        action: 'enable',
        categories: [...categories],
        options: {
          ...rest,
          duration: Math.min(Math.max(1, Math.ceil((expiresAt - clock.now()) / 1000)), maxDuration),
          otelrdcp_target: target,
          ...(filter && { otelrdcp_filter: filter }),
          ...(budget && { otelrdcp_budget: withinConfigured(budget, categories) }),
        },
      },
      { ...context, until: expiresAt, early: true, replay: { key: keyOf('enable'), fingerprint: '', expiresAt } },
    );
    const made = response.otelrdcp_activation?.id ?? '';
    return {
      id: made,
      expiresAt,
      async end(reason) {
        const replay = { key: keyOf('reset'), fingerprint: '', expiresAt };
        await plane.control({ action: 'reset', options: { otelrdcp_id: made, reason } }, { ...context, replay });
      },
    };
  };

  /** No document raises a limit that the service's owner has set: of two rates the smaller holds, and the other limits stay. */
  function withinConfigured(budget: ControlBudget, categories: readonly string[]): ControlBudget {
    if (budget.callsPerSecond === undefined) return budget;
    const rates = [budget.callsPerSecond, ...categories.map(configuredRate)].filter((rate) => rate !== undefined);
    return { ...budget, callsPerSecond: Math.min(...rates) };
  }
}
