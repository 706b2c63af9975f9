import type { ControlCommand } from '../../client.ts';
import type { ControlBudget, ControlResponse } from '../../protocol/messages.ts';
import { someOf } from '../parts/counted.ts';
import type { Receipt } from './state.ts';

/** What somebody asks for in the dialog. What is on for a while is ended, what is permanent is reset: one action. */
export type Intent = 'enable' | 'disable' | 'toggle' | 'end' | 'reset' | 'prolong';

/** Whether nothing of its own is left afterwards. */
export function isReset(intent: Intent): boolean {
  return intent === 'end' || intent === 'reset';
}

export interface ChangeForm {
  readonly intent: Intent;
  readonly categories: readonly string[];
  /** `undefined` for a change without an end. */
  readonly seconds: number | undefined;
  readonly reason: string;
  readonly budget: ControlBudget | undefined;
}

export function commandOf({ intent, categories, seconds, reason, budget }: ChangeForm): ControlCommand {
  const said = reason.trim() === '' ? {} : { reason: reason.trim() };
  if (isReset(intent)) return { action: 'reset', categories, options: said };
  const action = intent === 'disable' || intent === 'toggle' ? intent : 'enable';
  const time = seconds === undefined ? { temporary: false } : { temporary: true, duration: seconds };
  const limits =
    budget === undefined || action === 'disable' || seconds === undefined ? {} : { otelrdcp_budget: budget };
  return { action, categories, options: { ...time, ...said, ...limits } };
}

/** The answer to a change in words: what is so now, for whom, and where. */
export function receiptOf(
  { otelrdcp_fleet: fleet, otelrdcp_tenantKnown: known, status, changes, message }: ControlResponse,
  whom: string,
  processName = (id: string) => id,
) {
  const parts = [true, false].flatMap((on) => {
    const names = changes.filter(({ newState }) => newState === on).map(({ category }) => category);
    return names.length === 0 ? [] : [`${on ? 'On' : 'Off'}${whom && ` ${whom}`}: ${someOf(names)}`];
  });
  const behind = fleet?.pending.length ? ` Behind: ${someOf(fleet.pending.map(processName))}.` : '';
  const applied = fleet ? `Applied by ${fleet.applied} of ${fleet.instances}.${behind}` : '';
  const unknown = known === false ? 'Unknown tenant. ' : '';
  const whole = status === 'success';
  return {
    tone: status === 'failed' ? 'error' : whole && !unknown ? 'good' : 'warning',
    title: `${unknown}${whole ? '' : status === 'failed' ? 'Failed. ' : 'Partial. '}${parts.join('. ')}`,
    detail: whole || fleet ? applied : message,
  } satisfies Omit<Receipt, 'id'>;
}
