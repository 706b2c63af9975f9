import { changeText } from '../../../wire/change-text.ts';
import { whoOf } from '../../../wire/words/change.ts';
import { remaining } from '../../../wire/words/time.ts';
import { type Command, EXIT, UsageError } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { inLocalTime } from '../local-time.ts';
import { present } from '../options.ts';

export const approve: Command = {
  summary: 'make a change that waits because its key may not make it alone; without an id, list them',
  operands: '[id]',
  options: { decline: { help: 'end its waiting; nothing is changed' }, ...CONNECTION_OPTIONS },
  notes: ['A change waits 10 minutes for another user with the scope admin. The audit trail has both.'],
  examples: ['rdcp approve', 'rdcp approve 1f0c2e9ab34d', 'rdcp approve 1f0c2e9ab34d --decline'],
  run: async (terminal, values, [id]) => {
    const isDeclining = values.decline === true;
    if (id === undefined && isDeclining) throw new UsageError("which change? 'rdcp approve' lists them");
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
    const answer = await (isDeclining ? client.decline(id) : client.approve(id));
    present(terminal, values, answer, () => terminal.say(inLocalTime(answer.message, terminal.now())));
    if (answer.status === 'partial') return EXIT.partial;
    // The first of several answers to a change holds.
    return (answer.status === 'failed') === isDeclining ? EXIT.done : EXIT.refused;
  },
};
