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

const FOR: Option = { type: 'string', value: '5m', help: 'end by itself after that time (default: stays)' };
const REASON: Option = { type: 'string', value: 'TEXT', help: 'why, for the audit trail' };
const RATE: Option = { type: 'string', value: 'N', help: 'most calls a second; more than configured needs admin' };
const CALLS: Option = { type: 'string', value: 'N', help: 'end after that many calls' };
const BYTES: Option = { type: 'string', value: 'N', help: 'end after that many bytes' };
const UNLIMITED: Option = { type: 'boolean', help: 'any number of calls (needs admin)' };
const BUDGET = { rate: RATE, calls: CALLS, bytes: BYTES, unlimited: UNLIMITED };
const ALL: Option = { type: 'boolean', help: 'every category' };

export const enable = switching('enable', 'switch categories on', { for: FOR, ...BUDGET });
export const disable = switching('disable', 'switch categories off', { for: FOR });
export const toggle = switching('toggle', 'switch categories to the other state', { for: FOR, ...BUDGET });
export const reset = switching('reset', 'drop what was set: categories return to what they inherit', { all: ALL });

function switching(action: ControlAction, summary: string, options: Readonly<Record<string, Option>>): Command {
  return {
    summary,
    operands: 'all' in options ? 'NAME...|--all' : 'NAME...',
    options: { ...options, reason: REASON, ...CONNECTION_OPTIONS },
    run: async (terminal, values, operands) => {
      const answer = await connect(terminal, values).control(commandOf(action, values, operands));
      terminal.out(values.json === true ? JSON.stringify(answer, undefined, 2) : told(answer, terminal.now()));
      if (answer.status === 'partial') terminal.note(`rdcp: applied in part: ${escapeUnprintable(answer.message)}`);
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
  if (limited) throw new UsageError('--unlimited excludes --rate, --calls and --bytes');
  return { otelrdcp_budget: false };
}

function limit(values: Values, name: string): number | undefined {
  const given = text(values, name);
  if (given === undefined) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(given)) throw new UsageError(`--${name} must be a positive whole number`);
  return Number(given);
}

function everything(names: readonly string[]): Record<never, never> {
  if (names.length > 0) throw new UsageError('--all and names exclude each other');
  return {};
}

function checkedNames(action: ControlAction, names: readonly string[]): string[] {
  const wrong = names.find((name) => !isCategoryName(name));
  if (wrong !== undefined) throw new UsageError(`${wrong} is no category name: they are upper case, as SQL_POOL`);
  if (names.length === 0) throw new UsageError(`${action} needs the name of a category; see 'rdcp list'`);
  return [...new Set(names)];
}

function told(answer: ControlResponse, now: number): string {
  const { otelrdcp_fleet: fleet } = answer;
  if (fleet === undefined) return changes(answer, now);
  const missing = fleet.pending.length === 0 ? '' : `; not yet by ${fleet.pending.join(', ')}`;
  return `${changes(answer, now)}\n\napplied by ${fleet.applied} of ${fleet.instances}${escapeUnprintable(missing)}`;
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
