import { PROTOCOL } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ChangeRecord, ControlResponse, TenantContext } from '../protocol/messages.ts';
import { timestamp } from '../protocol/time.ts';
import { nameSome, type Transition } from './transition.ts';

/**
 * The answer to a control request that was applied.
 * @param status `partial` where it holds in this process alone
 */
export function controlResponse(
  { action }: ControlRequest,
  { categories, changes }: Pick<Transition, 'categories' | 'changes'>,
  status: 'success' | 'partial',
  now: number,
  tenant: TenantContext | undefined,
): ControlResponse {
  const message = describe(action, changes);
  return {
    protocol: PROTOCOL,
    timestamp: timestamp(now),
    ...(tenant !== undefined && { tenant }),
    action,
    categories,
    status,
    message: status === 'success' ? message : `${message}, in this process alone until the store can be reached again`,
    changes,
  };
}

const DONE = { enable: 'Enabled', disable: 'Disabled', toggle: 'Toggled', reset: 'Reset' } as const;

/** One line for the person who asked. */
function describe(action: ControlRequest['action'], changes: readonly ChangeRecord[]): string {
  if (action === 'status') {
    const on = changes.filter(({ newState }) => newState).length;
    return `${on} of ${changes.length === 1 ? '1 category' : `${changes.length} categories`} enabled`;
  }
  const subject = changes.length === 0 ? 'nothing' : nameSome(changes.map(({ category }) => category));
  const until = action === 'reset' ? undefined : changes.find(({ expiresAt }) => expiresAt !== undefined)?.expiresAt;
  return `${DONE[action]} ${subject}${until === undefined ? '' : ` until ${until}`}`;
}
