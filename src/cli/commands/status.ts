import { type Command, UsageError } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { table } from '../table.ts';

export const status: Command = {
  summary: 'show which categories are on',
  options: CONNECTION_OPTIONS,
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('status takes no operands');
    const answer = await connect(terminal, values).status();
    if (values.json === true) {
      terminal.out(JSON.stringify(answer, undefined, 2));
      return 0;
    }
    const rows = Object.entries(answer.categories).map(([name, on]) => [name, on ? 'on' : 'off']);
    terminal.out(table(['CATEGORY', 'STATE'], rows));
    const { totalCalls, callsPerSecond } = answer.performance;
    terminal.out(`\n${totalCalls} debug calls so far, ${callsPerSecond.toFixed(1)} per second now`);
    if (!answer.enabled) terminal.note('rdcp: the instrumentation is disabled in this service');
    return 0;
  },
};
