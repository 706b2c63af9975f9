import type { NotificationReceiver } from '../../../wire/messages.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present } from '../output.ts';

export const notifications: Command = {
  summary: 'show where notifications go, and the last deliveries of the process that answers',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp notifications'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).notifications();
    present(terminal, values, answer, () => {
      if (answer.receivers.length === 0) terminal.note('this service sends no notifications (notify.webhook)');
      for (const receiver of answer.receivers) {
        terminal.out(lineOf(receiver));
        if (receiver.deliveries.length === 0) continue;
        const rows = receiver.deliveries.map(({ timestamp, event, outcome, attempts, status, problem, id }) => [
          timestamp,
          event,
          outcome,
          String(attempts),
          problem ?? String(status ?? '-'),
          id,
        ]);
        terminal.table(['LAST ATTEMPT', 'EVENT', 'OUTCOME', 'ATTEMPTS', 'ANSWER', 'ID'], rows);
      }
    });
  },
};

function lineOf({ receiver, status, waiting, dropped, problem, nextAttemptAt }: NotificationReceiver): string {
  const parts = [
    `${receiver}: ${status}`,
    `${waiting} waiting`,
    ...(dropped > 0 ? [`${dropped} dropped`] : []),
    ...(problem === undefined ? [] : [problem]),
    ...(nextAttemptAt === undefined ? [] : [`next attempt at ${nextAttemptAt}`]),
  ];
  return parts.join(', ');
}
