import { changeText } from '../../../wire/change-text.ts';
import { escapeUnprintable } from '../../../wire/printable.ts';
import { remaining } from '../../../wire/words/time.ts';
import { type Command, EXIT } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present } from '../output.ts';
import { rowsOf } from '../table.ts';

export const approve: Command = {
  summary: 'make a change that waits because its key may not make it alone; without an id, list them',
  operands: '[id]',
  options: CONNECTION_OPTIONS,
  notes: ['A change waits 10 minutes for another user with the scope admin. The audit trail has both.'],
  examples: ['rdcp approve', 'rdcp approve 1f0c2e9ab34d'],
  run: async (terminal, values, [id]) => {
    const client = connect(terminal, values);
    if (id === undefined) {
      const answer = await client.approvals();
      present(terminal, values, answer, () => {
        if (answer.waiting.length === 0) return terminal.note('No change waits.');
        terminal.table(
          ...rowsOf(answer.waiting, [
            ['ID', ({ id }) => id],
            ['CHANGE', changeText],
            ['TENANT', ({ tenant }) => tenant ?? '-'],
            ['BY', ({ by }) => by.clientId ?? by.userId ?? '-'],
            ['REASON', ({ options }) => String(options?.reason ?? '-')],
            ['WHY IT WAITS', ({ problem }) => problem],
            ['LEFT', ({ expiresAt }) => remaining(expiresAt, terminal.now())],
          ]),
        );
      });
      return EXIT.done;
    }
    const answer = await client.approve(id);
    present(terminal, values, answer, () => terminal.out(escapeUnprintable(answer.message)));
    return answer.status === 'partial' ? EXIT.partial : EXIT.done;
  },
};
