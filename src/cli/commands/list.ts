import type { BudgetState, DiscoveredCategory } from '../../protocol/messages.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present } from '../output.ts';
import { type Cell, state, table } from '../table.ts';
import { remaining } from '../times.ts';

export const list: Command = {
  summary: 'list the debug categories of the service and their state',
  options: CONNECTION_OPTIONS,
  notes: ['-o wide adds why a category has its state, its default, its budget and what was dropped.'],
  examples: ['rdcp list', 'rdcp list -o wide --tenant acme'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).discovery();
    present(terminal, values, answer, (wide) => {
      const shown = columns(answer.categories, wide, terminal.now());
      const rows = answer.categories.map((category) => shown.map(({ cell }) => cell(category)));
      const header = shown.map(({ name }) => name);
      terminal.show(table(terminal, header, rows));
    });
    return 0;
  },
};

interface Column {
  readonly name: string;
  readonly cell: (category: DiscoveredCategory) => Cell;
}

function columns(categories: readonly DiscoveredCategory[], wide: boolean, now: number): Column[] {
  const limited = categories.some(
    ({ otelrdcp_budget, otelrdcp_dropped }) => otelrdcp_budget !== undefined || otelrdcp_dropped !== undefined,
  );
  const limits: Column[] = [
    { name: 'BUDGET', cell: (category) => budget(category, wide) },
    { name: 'DROPPED', cell: ({ otelrdcp_dropped: dropped }) => String(dropped ?? '-') },
  ];
  const reasons: Column[] = [
    { name: 'DECIDED BY', cell: ({ otelrdcp_origin: origin }) => origin ?? '-' },
    {
      name: 'DEFAULT',
      cell: ({ otelrdcp_default: enabled }) => (enabled === undefined ? '-' : enabled ? 'on' : 'off'),
    },
  ];
  const adopted = categories.some(({ otelrdcp_source: source }) => source !== undefined);
  return [
    { name: 'CATEGORY', cell: ({ name }) => name },
    { name: 'STATE', cell: ({ enabled }) => state(enabled) },
    { name: 'FOR', cell: (category) => timeLeft(category, now) },
    { name: 'CALLS', cell: ({ metrics }) => String(metrics.callsTotal) },
    { name: 'CALLS/S', cell: ({ metrics }) => metrics.callsPerSecond.toFixed(1) },
    ...(limited || wide ? limits : []),
    ...(wide ? reasons : []),
    ...(wide && adopted ? [{ name: 'SOURCE', cell: source }] : []),
    { name: 'DESCRIPTION', cell: ({ description }) => description },
  ];
}

/** Allowed calls per second, and what is left of the totals. */
function budget(
  { otelrdcp_budget: inForce, otelrdcp_configuredBudget: configured }: DiscoveredCategory,
  wide: boolean,
): string {
  // Of a category that is off it is only what would hold.
  const given: BudgetState | false | undefined = inForce ?? (wide ? configured : undefined);
  if (given === undefined) return '-';
  if (given === false) return 'none';
  const { callsPerSecond, callsLeft, bytesLeft } = given;
  const parts = [
    callsPerSecond === undefined ? [] : `${callsPerSecond}/s`,
    callsLeft === undefined ? [] : `${callsLeft} calls left`,
    bytesLeft === undefined ? [] : `${bytesLeft} bytes left`,
  ];
  return parts.flat().join(', ');
}

/** The library that made the statements, such as `pino db 10.4.0`, and how many loggers share the category. */
function source({ otelrdcp_source: from }: DiscoveredCategory): string {
  if (from === undefined) return '-';
  const { kind, name, version, count } = from;
  return `${kind} ${name}${version === undefined ? '' : ` ${version}`}${count > 1 ? ` (${count})` : ''}`;
}

/** Other implementations of the protocol may send no expiry for a temporary control. */
export function timeLeft({ temporary, otelrdcp_expiresAt }: DiscoveredCategory, now: number): string {
  if (!temporary) return '-';
  return otelrdcp_expiresAt === undefined ? 'a while' : remaining(otelrdcp_expiresAt, now);
}
