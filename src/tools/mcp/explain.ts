import { z } from 'zod';
import { statesOf } from '../../wire/words/state.ts';
import { COUNTED_SECONDS, findMissingLines } from '../cli/missing-lines.ts';
import { fitting } from './answer.ts';
import { selection, state } from './look.ts';
import { categories, tenant, tool, withProgress } from './tool.ts';

export const explain = tool({
  name: 'explain',
  title: 'Explain why no lines are seen',
  description: `Finds out why lines of categories are not seen: it looks at their state and measures for ${COUNTED_SECONDS} s whether they are called. Nothing is switched.`,
  input: z.strictObject({ categories: categories.describe('Names of categories.'), ...selection, tenant }),
  output: z.object({
    service: z.array(z.string()),
    categories: z.array(z.object({ category: z.string(), states: z.array(state), reasons: z.array(z.string()) })),
    omitted: z.int(),
  }),
  run: async ({ categories: words, ...part }, call) => {
    const found = await findMissingLines(words, {
      client: call.client,
      part,
      signal: call.signal,
      whileCounting: (count) => withProgress(call, COUNTED_SECONDS, () => 'measuring', count),
      describeError: (error) => call.service.explain(error),
      reader: () => 'collect_lines',
    });
    const { taken, omitted } = fitting(
      found.categories.map(({ name, category, reasons }) => ({
        category: name,
        states: category === undefined ? [] : [...statesOf(category, call.now())],
        reasons: [...reasons],
      })),
    );
    return { service: [...found.service], categories: taken, omitted };
  },
});
