import type { Clock } from '../../clock.ts';
import type { ResolvedConfig } from '../../config.ts';
import type { ControlPlane } from '../../control/types.ts';
import { EVERYBODY } from '../../protocol/constants.ts';
import type { TenantSummary, TenantsResponse } from '../../protocol/messages.ts';
import { timestamp } from '../../protocol/time.ts';
import type { Isolation } from '../../tenancy/isolation.ts';
import { type Handler, required } from '../steps.ts';
import { knownTenants } from './known-tenants.ts';
import { opening } from './opening.ts';

/** Most states, one per category and tenant, in an answer: about 5 MB. More would block the service for seconds. */
const MAX_STATES = 250_000;

interface Sources {
  readonly config: Pick<ResolvedConfig, 'tenancy'>;
  readonly plane: ControlPlane;
  readonly isolation: Isolation;
  readonly clock: Clock;
}

/**
 * `GET /rdcp/v1/tenants`: the configured tenants and those with settings of their own. A tenant's caller sees only its
 * own. Without multi-tenancy there is a single one for all.
 */
export function tenants({ config, plane, isolation, clock }: Sources): Handler {
  const configured = config.tenancy === false ? {} : config.tenancy.tenants;

  function summary(tenantId: string | undefined): TenantSummary {
    const scope = isolation.scopeOf(tenantId);
    const changedAt = plane.changedAt(scope);
    const {
      id,
      isolationLevel,
      scope: reach,
    } = isolation.contextOf(tenantId) ?? ({ id: EVERYBODY, isolationLevel: 'global', scope: 'global' } as const);
    const name = Object.hasOwn(configured, id) ? configured[id]?.name : undefined;
    return {
      id,
      ...(name !== undefined && { name }),
      isolationLevel,
      scope: reach,
      categories: Object.fromEntries(plane.view(scope).map(({ name, enabled }) => [name, plane.enabled && enabled])),
      temporaryControls: plane.temporaryControls(scope),
      ...(changedAt !== undefined && { lastChangedAt: timestamp(changedAt) }),
    };
  }

  return (ctx) => {
    const { tenantId, scope } = required(ctx, 'tenancy');
    const known = isolation.level === undefined ? [undefined] : [...knownTenants({ config, plane })].sort();
    const addressed = tenantId === undefined ? known : [tenantId];
    const room = Math.max(1, Math.floor(MAX_STATES / Math.max(1, plane.view(scope).length)));
    const body: TenantsResponse = {
      ...opening(ctx, clock),
      tenants: addressed.slice(0, room).map(summary),
      ...(addressed.length > room && { otelrdcp_total: addressed.length }),
    };
    return { body };
  };
}
