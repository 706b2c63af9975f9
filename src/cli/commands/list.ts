import type { DiscoveredCategory } from '../../protocol/messages.ts';
import { type Command, UsageError } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { remaining } from '../remaining.ts';
import { table } from '../table.ts';

export const list: Command = {
  summary: 'list the debug categories of the service and their state',
  options: CONNECTION_OPTIONS,
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('list takes no operands');
    const answer = await connect(terminal, values).discovery();
    if (values.json === true) {
      terminal.out(JSON.stringify(answer, undefined, 2));
      return 0;
    }
    const limited = answer.categories.some(
      ({ otelrdcp_budget, otelrdcp_dropped }) => otelrdcp_budget !== undefined || otelrdcp_dropped !== undefined,
    );
    const rows = answer.categories.map((category) => [
      category.name,
      category.enabled ? 'on' : 'off',
      until(category, terminal.now()),
      String(category.metrics.callsTotal),
      category.metrics.callsPerSecond.toFixed(1),
      ...(limited ? [budget(category), String(category.otelrdcp_dropped ?? '-')] : []),
      category.description,
    ]);
    const limits = limited ? ['BUDGET', 'DROPPED'] : [];
    terminal.out(table(['CATEGORY', 'STATE', 'FOR', 'CALLS', 'CALLS/S', ...limits, 'DESCRIPTION'], rows));
    return 0;
  },
};

/** Allowed calls per second, and what is left of the totals. */
function budget({ otelrdcp_budget: given }: DiscoveredCategory): string {
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

/** Other implementations of the protocol may send no expiry for a temporary control. */
function until({ temporary, otelrdcp_expiresAt }: DiscoveredCategory, now: number): string {
  if (!temporary) return '-';
  return otelrdcp_expiresAt === undefined ? 'a while' : remaining(otelrdcp_expiresAt, now);
}
