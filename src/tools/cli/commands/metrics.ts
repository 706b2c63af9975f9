import type { MetricValue } from '../../../wire/messages.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connectToRead } from '../connection.ts';
import { localTime } from '../local-time.ts';
import { present } from '../output.ts';

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
