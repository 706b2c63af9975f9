import { MAX_FORECAST_SECONDS } from '../../protocol/constants.ts';
import type { ForecastResponse } from '../../protocol/streams.ts';
import { parseDuration } from '../../protocol/time.ts';
import { type Command, EXIT, type Option, type Terminal, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { forecastTable, noteGaps } from '../forecast-table.ts';
import { namesOf, parseSelection, suggesting } from '../names.ts';
import { present } from '../output.ts';
import { duration } from '../times.ts';

const USUAL = '10s';
const FOR: Option = { type: 'string', value: '10s', help: `how long to measure, at most 60s (default: ${USUAL})` };

export const forecast: Command = {
  summary: 'measure what categories would emit if they were on, without a line being emitted',
  operands: '<name...>',
  completes: 'categories',
  options: { for: FOR, ...CONNECTION_OPTIONS },
  notes: [
    'The figures are sums over the processes of the fleet that answered; exit code 3 if some did not. DROPPED/S is what the',
    'configured budget of the category would drop.',
  ],
  examples: ['rdcp forecast DATABASE --for 10s', "rdcp forecast 'DB_*' --tenant acme"],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const time = timeOf(values);
    const client = connect(terminal, values);
    const names = await namesOf(terminal, client, selection);
    const answer = await suggesting(client, () =>
      measured(terminal, time, () => client.forecast(names, { duration: time })),
    );
    present(terminal, values, answer, () => terminal.show(forecastTable(terminal, answer)));
    noteGaps(terminal, answer);
    return isWhole(answer) ? EXIT.done : EXIT.partial;
  },
};

function timeOf(values: Values): string {
  const time = duration(values, 'for') ?? USUAL;
  if ((parseDuration(time) ?? 0) > MAX_FORECAST_SECONDS)
    throw new UsageError(`--for must be at most ${MAX_FORECAST_SECONDS}s`);
  return time;
}

/** Nobody should wonder why nothing happens. */
function measured<T>(terminal: Terminal, time: string, measure: () => Promise<T>): Promise<T> {
  if (terminal.interactive) terminal.note(`Measuring for ${time}.`);
  return measure();
}

function isWhole({ instances }: ForecastResponse): boolean {
  return instances.answered >= instances.asked;
}
