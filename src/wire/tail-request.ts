import { z } from 'zod';
import { MAX_TAIL_LINES, MAX_TAIL_RATE } from './constants.ts';
import { categorySelection, duration, statedProtocol } from './control-request.ts';
import type { Shape } from './documented.ts';
import type { TailBody } from './streams.ts';
import { lineFilterSchema, targetSchema, whenSchema } from './target.ts';

/** The body of `POST /rdcp/v1/tail`. A single category name is parsed to a list, the duration to seconds. */
export const tailRequestSchema = z.strictObject({
  categories: categorySelection,
  duration: duration.optional(),
  rate: z.number().int().min(1).max(MAX_TAIL_RATE).optional(),
  lines: z.number().int().min(1).max(MAX_TAIL_LINES).optional(),
  since: duration.optional(),
  past: z.boolean().optional(),
  log: z.boolean().optional(),
  target: targetSchema.optional(),
  filter: lineFilterSchema.optional(),
  when: whenSchema.optional(),
  protocol: statedProtocol,
} satisfies Shape<TailBody & { readonly protocol?: string }>);
