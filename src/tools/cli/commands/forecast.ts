import { MAX_FORECAST_SECONDS } from '../../../wire/constants.ts';
import { nameSome } from '../../../wire/printable.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import { parseDuration } from '../../../wire/time.ts';
import { statesOf } from '../../../wire/words/state.ts';
import { type Command, EXIT, type Option, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { failureOf } from '../explain.ts';
import { noteGaps, noteSilence, showForecast, USUAL_TIME, whileMeasuring } from '../forecast-table.ts';
import { COUNTED_SECONDS, findMissingLines } from '../missing-lines.ts';
import { noteUnknownTenant, parseSelection, selected, suggesting } from '../names.ts';
import { duration, present } from '../options.ts';
import { processNames } from '../process-names.ts';
import { OUTCOME_OPTIONS, SELECTION_OPTIONS, selectionOf } from '../selection-options.ts';

const FOR: Option = { value: '10s', help: `how long to measure, at most 60s (default: ${USUAL_TIME})` };

export const forecast: Command = ofServices({
  summary: 'measure what categories would emit if they were on, without a line being emitted',
  operands: '<name...>',
  completes: 'categories',
  options: { for: FOR, ...SELECTION_OPTIONS, ...OUTCOME_OPTIONS, ...CONNECTION_OPTIONS },
  notes: [
    'The figures are sums over the processes of the fleet that answered; exit code 3 if some did not. DROPPED/S is what the',
    'configured budget of the category would drop, or with --on-error that of recorded lines.',
  ],
  examples: [
    'rdcp forecast DATABASE --for 10s',
    'rdcp forecast DATABASE --on-error',
    "rdcp forecast 'DB_*' --tenant acme",
  ],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const time = timeOf(values);
    const part = selectionOf(values);
    const { access, client, names } = await selected(terminal, values, selection);
    const answer = await whileMeasuring(terminal, time, () =>
      suggesting(client, () => client.forecast(names, { duration: time, ...part })),
    );
    const chosen = await processNames(client, answer.chosen ?? [], terminal.now());
    present(terminal, values, answer, () => {
      showForecast(terminal, answer);
      if (chosen.length > 0) terminal.say(`chosen: ${nameSome(chosen)}`);
    });
    noteSilence(terminal, answer, { tenant: access.tenantId, ...part });
    noteGaps(terminal, answer);
    if (answer.tenantKnown === false) await noteUnknownTenant(terminal, access);
    return answer.instances.answered < answer.instances.asked ? EXIT.partial : EXIT.done;
  },
});

function timeOf(values: Values): string {
  const time = duration(values, 'for') ?? USUAL_TIME;
  if ((parseDuration(time) ?? 0) > MAX_FORECAST_SECONDS)
    throw new UsageError(`--for must be at most ${MAX_FORECAST_SECONDS}s`);
  return time;
}

export const explain: Command = {
  summary: 'explain why no lines of categories are seen',
  operands: '<name...>',
  completes: 'categories',
  options: { ...SELECTION_OPTIONS, ...OUTCOME_OPTIONS, ...CONNECTION_OPTIONS },
  notes: [`It looks at their state and counts their calls for ${COUNTED_SECONDS} s. Nothing is switched.`],
  examples: ['rdcp explain ORDERS', 'rdcp explain ORDERS -m user.id=42'],
  run: async (terminal, values, operands) => {
    const { access, client, names } = await selected(terminal, values, parseSelection(operands));
    const answer = await findMissingLines(names, {
      client,
      part: { tenant: access.tenantId, ...selectionOf(values) },
      whileCounting: (count) => whileMeasuring(terminal, `${COUNTED_SECONDS}s`, count),
      describeError: (error) => failureOf(error).text,
      reader: (name) => shellWords('rdcp', 'tail', name),
    });
    present(terminal, values, answer, () => {
      for (const line of answer.service) terminal.say(line);
      for (const { name, category, reasons } of answer.categories) {
        const states = category === undefined ? [] : statesOf(category, terminal.now());
        const shown = states.map(({ state, whom }) => (whom === '-' ? state : `${state} ${whom}`));
        terminal.say([name, shown.join(', ')].filter((part) => part !== '').join(' '));
        for (const reason of reasons) terminal.say(`  ${reason}`);
      }
    });
    return answer.categories.every(({ category }) => category !== undefined) ? EXIT.done : EXIT.refused;
  },
};
