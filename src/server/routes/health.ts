import type { Clock } from '../../clock.ts';
import type { Emission } from '../../protocol/emission.ts';
import type { HealthResponse } from '../../protocol/messages.ts';
import type { Health } from '../health-checks.ts';
import type { Handler } from '../steps.ts';
import { maySeeEmission } from './emission.ts';
import { opening } from './opening.ts';

/** `GET /rdcp/v1/health`. An anonymous probe sees only the overall status. */
export function health({
  runChecks,
  outputs,
  clock,
}: {
  readonly runChecks: () => Promise<Health>;
  readonly outputs?: { readonly emission: Emission };
  readonly clock: Clock;
}): Handler {
  return async (ctx) => {
    const { status, checks } = await runChecks();
    const body: HealthResponse = {
      ...opening(ctx, clock),
      status,
      checks: ctx.state.principal === undefined ? [] : checks,
      ...(maySeeEmission(ctx) && outputs !== undefined && { otelrdcp_emit: outputs.emission }),
    };
    return { body, status: status === 'unhealthy' ? 503 : 200 };
  };
}
