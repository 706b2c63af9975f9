import { PROTOCOL } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ChangeRecord, ControlResponse, TenantContext } from '../protocol/messages.ts';
import { timestamp } from '../protocol/time.ts';
import type { Transition } from './transition.ts';

/** The answer to a control request that was applied. */
export function controlResponse(
  { action }: ControlRequest,
  { categories, changes }: Transition,
  now: number,
  tenant: TenantContext | undefined,
): ControlResponse {
  return {
    protocol: PROTOCOL,
    timestamp: timestamp(now),
    ...(tenant !== undefined && { tenant }),
    action,
    categories,
    status: 'success',
    message: describe(action, changes),
    changes,
  };
}

const DONE = { enable: 'Enabled', disable: 'Disabled', toggle: 'Toggled', reset: 'Reset' } as const;

/** Names in a message; more of them are counted. */
const NAMED = 5;

/** One line for the person who asked. */
function describe(action: ControlRequest['action'], changes: readonly ChangeRecord[]): string {
  if (action === 'status') {
    const on = changes.filter(({ newState }) => newState).length;
    return `${on} of ${counted(changes.length)} enabled`;
  }
  const names = changes.map(({ category }) => category);
  const subject = names.length <= NAMED ? names.join(', ') : counted(names.length);
  const until = action === 'reset' ? undefined : changes.find(({ expiresAt }) => expiresAt !== undefined)?.expiresAt;
  return `${DONE[action]} ${subject}${until === undefined ? '' : ` until ${until}`}`;
}

function counted(count: number): string {
  return count === 1 ? '1 category' : `${count} categories`;
}
