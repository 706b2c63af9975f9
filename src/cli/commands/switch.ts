import type { ControlCommand, ControlOptions } from '../../client/client.ts';
import { escapeUnprintable } from '../../printable.ts';
import type { ControlAction } from '../../protocol/constants.ts';
import type { ControlResponse } from '../../protocol/messages.ts';
import { isCategoryName } from '../../protocol/names.ts';
import { parseDuration } from '../../protocol/time.ts';
import { type Command, type Option, text, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { remaining } from '../remaining.ts';
import { table } from '../table.ts';

const FOR: Option = { type: 'string', value: '5m', help: 'duration, after which the change ends (default: permanent)' };
const REASON: Option = { type: 'string', value: 'TEXT', help: 'reason, for the audit trail' };
const RATE: Option = { type: 'string', value: 'N', help: 'maximum calls per second; more than configured needs admin' };
const CALLS: Option = { type: 'string', value: 'N', help: 'end after N calls' };
const BYTES: Option = { type: 'string', value: 'N', help: 'end after N bytes' };
const UNLIMITED: Option = { type: 'boolean', help: 'no limit on calls (needs admin)' };
const BUDGET = { rate: RATE, calls: CALLS, bytes: BYTES, unlimited: UNLIMITED };
const ALL: Option = { type: 'boolean', help: 'every category' };

export const enable = switching('enable', 'switch categories on', { for: FOR, ...BUDGET });
export const disable = switching('disable', 'switch categories off', { for: FOR });
export const toggle = switching('toggle', 'switch each category to its opposite state', { for: FOR, ...BUDGET });
export const reset = switching('reset', 'remove settings: categories return to the state that they inherit', {
  all: ALL,
});

function switching(action: ControlAction, summary: string, options: Readonly<Record<string, Option>>): Command {
  return {
    summary,
    operands: 'all' in options ? 'NAME...|--all' : 'NAME...',
    options: { ...options, reason: REASON, ...CONNECTION_OPTIONS },
    run: async (terminal, values, operands) => {
      const answer = await connect(terminal, values).control(commandOf(action, values, operands));
      terminal.out(values.json === true ? JSON.stringify(answer, undefined, 2) : formatAnswer(answer, terminal.now()));
      if (answer.status === 'partial') terminal.note(`rdcp: partially applied: ${escapeUnprintable(answer.message)}`);
      return answer.status === 'failed' ? 1 : 0;
    },
  };
}

function commandOf(action: ControlAction, values: Values, names: readonly string[]): ControlCommand {
  const duration = text(values, 'for');
  const reason = text(values, 'reason');
  if (duration !== undefined && parseDuration(duration) === undefined) {
    throw new UsageError('--for must be a duration such as 30s, 5m or 2h');
  }
  const options = {
    ...(duration === undefined ? {} : { temporary: true, duration }),
    ...(reason === undefined ? {} : { reason }),
    ...budgetOf(values),
  };
  return {
    action,
    ...(values.all === true ? everything(names) : { categories: checkedNames(action, names) }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  };
}

function budgetOf(values: Values): Pick<ControlOptions, 'otelrdcp_budget'> {
  const limits = {
    callsPerSecond: limit(values, 'rate'),
    calls: limit(values, 'calls'),
    bytes: limit(values, 'bytes'),
  };
  const limited = Object.values(limits).some((value) => value !== undefined);
  if (values.unlimited !== true) return limited ? { otelrdcp_budget: limits } : {};
  if (limited) throw new UsageError('--unlimited cannot be combined with --rate, --calls or --bytes');
  return { otelrdcp_budget: false };
}

function limit(values: Values, name: string): number | undefined {
  const given = text(values, name);
  if (given === undefined) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(given)) throw new UsageError(`--${name} must be a whole number from 1 to 9999999999`);
  return Number(given);
}

function everything(names: readonly string[]): Record<never, never> {
  if (names.length > 0) throw new UsageError('--all cannot be combined with category names');
  return {};
}

function checkedNames(action: ControlAction, names: readonly string[]): string[] {
  const wrong = names.find((name) => !isCategoryName(name));
  if (wrong !== undefined) {
    throw new UsageError(
      `invalid category name '${wrong}': use upper-case letters, digits and underscores, such as SQL_POOL`,
    );
  }
  if (names.length === 0) throw new UsageError(`${action} needs at least one category name; see 'rdcp list'`);
  return [...new Set(names)];
}

function formatAnswer(answer: ControlResponse, now: number): string {
  const { otelrdcp_fleet: fleet } = answer;
  if (fleet === undefined) return changes(answer, now);
  const missing = fleet.pending.length === 0 ? '' : `; still pending: ${fleet.pending.join(', ')}`;
  return `${changes(answer, now)}\n\napplied by ${fleet.applied} of ${fleet.instances} processes${escapeUnprintable(missing)}`;
}

function changes(answer: ControlResponse, now: number): string {
  const rows = answer.changes.map(({ category, previousState, newState, expiresAt }) => [
    category,
    stateName(previousState),
    stateName(newState),
    expiresAt === undefined ? '-' : remaining(expiresAt, now),
  ]);
  return table(['CATEGORY', 'WAS', 'NOW', 'FOR'], rows);
}

function stateName(enabled: boolean): string {
  return enabled ? 'on' : 'off';
}
