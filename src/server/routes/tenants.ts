import type { Clock } from '../../clock.ts';
import type { ControlPlane } from '../../control/types.ts';
import type { TenantsResponse } from '../../protocol/messages.ts';
import { type Handler, required } from '../context.ts';
import { opening } from './opening.ts';

/** `GET /rdcp/v1/tenants`: without multi-tenancy there is one, which is everybody. */
export function tenants({ plane, clock }: { plane: ControlPlane; clock: Clock }): Handler {
  return (ctx) => {
    const { scope } = required(ctx, 'tenancy');
    const body: TenantsResponse = {
      ...opening(ctx, clock),
      tenants: [
        {
          id: 'global',
          isolationLevel: 'global',
          scope: 'global',
          categories: Object.fromEntries(
            plane.view(scope).map(({ name, enabled }) => [name, plane.enabled && enabled]),
          ),
          temporaryControls: plane.temporaryControls(scope),
        },
      ],
    };
    return { body };
  };
}
