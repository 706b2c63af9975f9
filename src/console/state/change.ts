import type { ControlCommand } from '../../client.ts';
import type { ControlBudget, ControlResponse } from '../../protocol/messages.ts';
import type { Receipt } from './state.ts';

/** What somebody asks for in the dialog. */
export type Intent = 'enable' | 'disable' | 'toggle' | 'reset' | 'prolong';

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
  if (intent === 'reset') return { action: 'reset', categories, options: said };
  const action = intent === 'prolong' ? 'enable' : intent;
  const time = seconds === undefined ? { temporary: false } : { temporary: true, duration: seconds };
  const limits =
    budget === undefined || action === 'disable' || seconds === undefined ? {} : { otelrdcp_budget: budget };
  return { action, categories, options: { ...time, ...said, ...limits } };
}

/** The answer to a change in words. */
export function receiptOf(intent: Intent, answer: ControlResponse, whom: string): Omit<Receipt, 'id'> {
  const { otelrdcp_fleet: fleet, status, changes } = answer;
  const wanted = intent === 'enable' || intent === 'prolong' ? true : intent === 'disable' ? false : undefined;
  const resisted = changes.filter(({ newState }) => wanted !== undefined && newState !== wanted);
  const detail = [
    ...(fleet === undefined ? [] : [`Applied by ${fleet.applied} of ${fleet.instances}.`]),
    ...(status === 'partial' && fleet !== undefined && fleet.pending.length > 0
      ? [`Behind: ${fleet.pending.slice(0, 5).join(', ')}${fleet.pending.length > 5 ? ' and others' : ''}.`]
      : []),
    ...(status === 'partial' && (fleet === undefined || fleet.pending.length === 0) ? [`${answer.message}.`] : []),
    ...(resisted.length > 0
      ? [`Still ${wanted ? 'off' : 'on'}: ${resisted.map(({ category }) => category).join(', ')}.`]
      : []),
  ].join(' ');
  const names = changes.map(({ category }) => category);
  const subject = names.length === 1 ? names[0] : `${names.length} categories`;
  const partly = status === 'success' ? '' : status === 'partial' ? 'Partial: ' : 'Failed: ';
  return {
    tone: status === 'failed' ? 'error' : status === 'partial' || resisted.length > 0 ? 'warning' : 'good',
    title: `${partly}${DONE[intent](subject ?? 'nothing', stateOf(changes))} ${whom}`,
    ...(detail !== '' && { detail }),
  };
}

const DONE: Readonly<Record<Intent, (subject: string, state: string) => string>> = {
  enable: (subject) => `${subject} is on`,
  prolong: (subject) => `${subject} stays on`,
  disable: (subject) => `${subject} is off`,
  toggle: (subject, state) => `${subject} toggled${state}`,
  reset: (subject, state) => `${subject} is back to what it inherits${state}`,
};

/** `: on` where all have one state. */
function stateOf(changes: ControlResponse['changes']): string {
  const states = new Set(changes.map(({ newState }) => newState));
  if (states.size !== 1) return '';
  return states.has(true) ? ': on' : ': off';
}
