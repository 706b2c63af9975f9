import { z } from 'zod';
import { MAX_FAILURES, MAX_TAIL_LINES, MAX_TAIL_RATE } from './constants.ts';
import { categorySelection, duration, statedProtocol } from './control-request.ts';
import type { Shape } from './documented.ts';
import type { FailuresRequest, ForecastRequest, TailBody } from './streams.ts';
import { lineFilterSchema, targetSchema, whenSchema } from './target.ts';

// Bodies that ask for lines, or for what they would be. A single category name is parsed to a list, a duration to seconds.

const lines = { target: targetSchema.optional(), filter: lineFilterSchema.optional(), when: whenSchema.optional() };

type Stated<Body> = Shape<Body & { readonly protocol?: string }>;

/** The body of `POST /rdcp/v1/forecast`. The maximum of the duration is checked later. */
export const forecastRequestSchema = z.strictObject({
  categories: categorySelection,
  duration: duration.default(10),
  ...lines,
  protocol: statedProtocol,
} satisfies Stated<ForecastRequest>);

/** The body of `POST /rdcp/v1/tail`. */
export const tailRequestSchema = z.strictObject({
  categories: categorySelection,
  duration: duration.optional(),
  rate: z.number().int().min(1).max(MAX_TAIL_RATE).optional(),
  lines: z.number().int().min(1).max(MAX_TAIL_LINES).optional(),
  since: duration.optional(),
  past: z.boolean().optional(),
  log: z.boolean().optional(),
  ...lines,
  protocol: statedProtocol,
} satisfies Stated<TailBody>);

/** The body of `POST /rdcp/v1/failures`. */
export const failuresRequestSchema = z.strictObject({
  categories: categorySelection.optional(),
  since: duration.optional(),
  target: lines.target,
  when: lines.when,
  limit: z.number().int().min(1).max(MAX_FAILURES).default(50),
  protocol: statedProtocol,
} satisfies Stated<FailuresRequest>);
