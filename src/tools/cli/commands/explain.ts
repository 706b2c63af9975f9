import { shellWords } from '../../../wire/shell-words.ts';
import { statesOf } from '../../../wire/words/state.ts';
import { type Command, EXIT } from '../command.ts';
import { CONNECTION_OPTIONS } from '../connection.ts';
import { failureOf } from '../explain.ts';
import { whileMeasuring } from '../forecast-table.ts';
import { COUNTED_SECONDS, findMissingLines } from '../missing-lines.ts';
import { parseSelection, selected } from '../names.ts';
import { present } from '../output.ts';
import { OUTCOME_OPTIONS, SELECTION_OPTIONS, selectionOf } from '../selection-options.ts';

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
