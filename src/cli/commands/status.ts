import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present } from '../output.ts';
import { state, table } from '../table.ts';

export const status: Command = {
  summary: 'show which categories are on',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp status -o json'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).status();
    present(terminal, values, answer, () => {
      const rows = Object.entries(answer.categories).map(([name, on]) => [name, state(on)]);
      terminal.show(table(terminal, ['CATEGORY', 'STATE'], rows));
      const { totalCalls, callsPerSecond } = answer.performance;
      terminal.out(`\n${totalCalls} debug calls so far, ${callsPerSecond.toFixed(1)} per second now`);
      if (!answer.enabled) terminal.note('rdcp: the instrumentation is disabled in this service');
    });
    return 0;
  },
};
