import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connectToRead } from '../connection.ts';
import { timeCell } from '../local-time.ts';
import { present } from '../output.ts';

export const tenants: Command = {
  summary: 'list the tenants, and which categories are on for each',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp tenants', 'rdcp tenants --tenant acme'],
  run: async (terminal, values) => {
    const answer = await (await connectToRead(terminal, values)).tenants();
    present(terminal, values, answer, (wide) => {
      const differs = answer.tenants.some(({ otelrdcp_off: off }) => off !== undefined);
      terminal.table(answer.tenants, [
        ['TENANT', ({ id }) => id],
        ['NAME', ({ name }) => name ?? '-'],
        [
          'ON',
          ({ categories }) =>
            Object.keys(categories)
              .filter((name) => categories[name])
              .join(',') || '-',
        ],
        differs && ['OFF', ({ otelrdcp_off: off }) => off?.join(',') ?? '-'],
        ['TEMPORARY', ({ temporaryControls }) => String(temporaryControls)],
        ['LAST CHANGE', ({ lastChangedAt }) => (lastChangedAt === undefined ? '-' : timeCell(terminal, lastChangedAt))],
        wide && ['ISOLATION', ({ isolationLevel }) => isolationLevel],
        wide && ['SCOPE', ({ scope }) => scope],
      ]);
      const { otelrdcp_total: total } = answer;
      if (total !== undefined)
        terminal.note(`${answer.tenants.length} of ${total} tenants; --tenant ID shows another one`);
    });
  },
};
