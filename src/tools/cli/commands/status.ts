import { partOfFleet } from '../../../wire/counted-calls.ts';
import { categoriesOf, statesOf } from '../../../wire/words/state.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connectToRead } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { present } from '../output.ts';
import { fleetOf } from '../process-names.ts';
import { noteReach } from '../reach.ts';
import { type Column, state } from '../table.ts';

export const status: Command = ofServices({
  summary: 'show which categories are on',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp status -o json'],
  run: async (terminal, values) => {
    const client = await connectToRead(terminal, values);
    const answer = await client.status();
    const fleet = await fleetOf(terminal, client, answer);
    present(terminal, values, answer, () => {
      const { otelrdcp_settings: settings, otelrdcp_activations: activations, otelrdcp_levels: levels } = answer;
      const states = categoriesOf(answer).flatMap((category) =>
        statesOf(category, terminal.now()).map((each) => ({ ...each, name: category.name })),
      );
      const columns: Column<(typeof states)[number]>[] = [
        ['CATEGORY', ({ name }) => name],
        ['STATE', (each) => state(each.state)],
        (settings ?? activations ?? levels) !== undefined && ['FOR', ({ whom }) => whom],
      ];
      terminal.table(states, columns, { fleet });
      const { totalCalls, callsPerSecond } = answer.performance;
      const part = partOfFleet(answer.otelrdcp_instances);
      const whose = part === undefined ? '' : ` ${part}`;
      terminal.out('');
      terminal.say(`${totalCalls} debug calls counted so far${whose}, ${callsPerSecond.toFixed(1)} per second now`);
      noteReach(terminal, answer.otelrdcp_recorder);
      if (!answer.enabled) terminal.note('rdcp: the instrumentation is disabled in this service');
    });
  },
});
