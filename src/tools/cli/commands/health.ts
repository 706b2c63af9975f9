import type { MetricValue, NotificationReceiver } from '../../../wire/messages.ts';
import { EMISSION_TEXTS } from '../../../wire/words/emission.ts';
import { type Command, EXIT, type Style } from '../command.ts';
import { CONNECTION_OPTIONS, connect, connectToRead } from '../connection.ts';
import { localClock, localTime, timeCell } from '../local-time.ts';
import { present } from '../options.ts';

export const health: Command = {
  summary: 'show service health; exit code 1 if the service is unhealthy',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp health'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).health();
    present(terminal, values, answer, () => {
      terminal.say(answer.status, STYLES[answer.status]);
      if (answer.otelrdcp_emit) {
        const { to, reason } = answer.otelrdcp_emit;
        // A newer server may send a destination that this version does not know.
        terminal.say(`debug lines ${Object.hasOwn(EMISSION_TEXTS, to) ? EMISSION_TEXTS[to] : `to ${to}`} (${reason})`);
      }
      const checks = answer.checks ?? [];
      const explained = checks.some(({ otelrdcp_reason: reason }) => reason !== undefined);
      if (checks.length === 0) return;
      terminal.out('');
      terminal.table(checks, [
        ['CHECK', ({ name }) => name],
        ['STATUS', ({ status }) => (status === 'pass' ? status : [status, STYLES[status] ?? 'yellow'])],
        ['TOOK', ({ duration }) => duration],
        explained && ['REASON', ({ otelrdcp_reason: reason }) => reason ?? '-'],
      ]);
    });
    return answer.status === 'unhealthy' ? EXIT.refused : EXIT.done;
  },
};

const STYLES: Readonly<Record<string, Style>> = {
  healthy: 'green',
  degraded: 'yellow',
  unhealthy: 'red',
  warn: 'yellow',
  fail: 'red',
};

export const metrics: Command = {
  summary: 'show measurements of the process and the calls of each category',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp metrics', 'rdcp metrics -o json'],
  run: async (terminal, values) => {
    const answer = await (await connectToRead(terminal, values)).metrics();
    present(terminal, values, answer, (wide) => {
      terminal.table(Object.entries(answer.metrics), [
        ['METRIC', ([name]) => name],
        ['VALUE', ([, metric]) => formatted(metric)],
        wide && ['MEASURED AT', ([, metric]) => localTime(metric.timestamp)],
      ]);
      const categories = Object.entries(answer.categories);
      if (categories.length === 0) return;
      terminal.out('');
      terminal.table(categories, [
        ['CATEGORY', ([name]) => name],
        ['CALLS', ([, { callsTotal }]) => String(callsTotal?.value ?? '-')],
        ['CALLS/S', ([, { callsPerSecond }]) => callsPerSecond?.value.toFixed(1) ?? '-'],
      ]);
    });
  },
};

const UNITS: Readonly<Record<string, string>> = { percent: ' %', milliseconds: ' ms', per_second: '/s', count: '' };

/** A newer server may send a unit that this version does not know. */
function formatted({ value, unit }: MetricValue): string {
  if (unit === 'bytes') return `${(value / 2 ** 20).toFixed(1)} MiB`;
  const rounded = Number.isInteger(value) ? String(value) : value.toFixed(1);
  return `${rounded}${Object.hasOwn(UNITS, unit) ? UNITS[unit] : ` ${unit}`}`;
}

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
