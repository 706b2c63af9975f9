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
    const rows = answer.categories.map((category) => [
      category.name,
      category.enabled ? 'on' : 'off',
      until(category, terminal.now()),
      String(category.metrics.callsTotal),
      category.metrics.callsPerSecond.toFixed(1),
      category.description,
    ]);
    terminal.out(table(['CATEGORY', 'STATE', 'FOR', 'CALLS', 'CALLS/S', 'DESCRIPTION'], rows));
    return 0;
  },
};

/** Another implementation of the protocol may tell that a setting is temporary without telling until when. */
function until({ temporary, otelrdcp_expiresAt }: DiscoveredCategory, now: number): string {
  if (!temporary) return '-';
  return otelrdcp_expiresAt === undefined ? 'a while' : remaining(otelrdcp_expiresAt, now);
}
