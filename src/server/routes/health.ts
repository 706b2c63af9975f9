import type { Clock } from '../../clock.ts';
import type { HealthResponse } from '../../protocol/messages.ts';
import type { Handler } from '../context.ts';
import type { Health } from '../health-checks.ts';
import { opening } from './opening.ts';

/** `GET /rdcp/v1/health`: an anonymous probe learns the overall status alone. */
export function health({ runChecks, clock }: { runChecks: () => Promise<Health>; clock: Clock }): Handler {
  return async (ctx) => {
    const { status, checks } = await runChecks();
    const body: HealthResponse = {
      ...opening(ctx, clock),
      status,
      checks: ctx.state.principal === undefined ? [] : checks,
    };
    return { body, status: status === 'unhealthy' ? 503 : 200 };
  };
}
