import type { NotificationReceiver } from '../../../wire/messages.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { localClock, timeCell } from '../local-time.ts';
import { present } from '../output.ts';

export const notifications: Command = {
  summary: 'show where notifications go, and the last deliveries of the process that answers',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp notifications'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).notifications();
    present(terminal, values, answer, (wide) => {
      if (answer.receivers.length === 0) terminal.note('this service sends no notifications (notify.webhook)');
      for (const receiver of answer.receivers) {
        terminal.say(lineOf(receiver, terminal.now()));
        if (receiver.deliveries.length === 0) continue;
        terminal.table(receiver.deliveries, [
          ['LAST ATTEMPT', ({ timestamp }) => timeCell(terminal, timestamp)],
          ['EVENT', ({ event }) => event],
          ['OUTCOME', ({ outcome }) => outcome],
          ['ATTEMPTS', ({ attempts }) => String(attempts)],
          ['ANSWER', ({ problem, status }) => problem ?? String(status ?? '-')],
          wide && ['ID', ({ id }) => id],
        ]);
      }
    });
  },
};

function lineOf(
  { receiver, status, waiting, dropped, problem, nextAttemptAt }: NotificationReceiver,
  now: number,
): string {
  const parts = [
    `${receiver}: ${status}`,
    `${waiting} waiting`,
    dropped > 0 && `${dropped} dropped`,
    problem,
    nextAttemptAt && `next attempt at ${localClock(nextAttemptAt, now)}`,
  ];
  return parts.filter(Boolean).join(', ');
}
