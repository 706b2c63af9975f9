import { z } from 'zod';
import { categorySelection, duration, statedProtocol } from './control-request.ts';
import type { Shape } from './documented.ts';
import type { ForecastRequest } from './streams.ts';
import { lineFilterSchema, targetSchema, whenSchema } from './target.ts';

/** The body of `POST /rdcp/v1/forecast`. A single category name is parsed to a list; the duration, whose maximum is checked later, to seconds. */
export const forecastRequestSchema = z.strictObject({
  categories: categorySelection,
  duration: duration.default(10),
  target: targetSchema.optional(),
  filter: lineFilterSchema.optional(),
  when: whenSchema.optional(),
  protocol: statedProtocol,
} satisfies Shape<ForecastRequest & { readonly protocol?: string }>);
