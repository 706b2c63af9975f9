import { changeText } from '../../../wire/change-text.ts';
import { whoOf } from '../../../wire/words/change.ts';
import { remaining } from '../../../wire/words/time.ts';
import { type Command, EXIT } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { inLocalTime } from '../local-time.ts';
import { present } from '../output.ts';

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
        terminal.table(answer.waiting, [
          ['ID', ({ id }) => id],
          ['LEFT', ({ expiresAt }) => remaining(expiresAt, terminal.now())],
          ['WHO', ({ by, tenant }) => whoOf(by, tenant)],
          ['CHANGE', changeText],
          ['WHY IT WAITS', ({ problem }) => problem],
          ['REASON', ({ options }) => String(options?.reason ?? '-')],
        ]);
      });
      return EXIT.done;
    }
    const answer = await client.approve(id);
    present(terminal, values, answer, () => terminal.say(inLocalTime(answer.message, terminal.now())));
    return answer.status === 'partial' ? EXIT.partial : EXIT.done;
  },
};
