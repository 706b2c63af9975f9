import { z } from 'zod';
import { categorySelection, duration } from './control-request.ts';
import type { Shape } from './documented.ts';
import type { ForecastRequest } from './streams.ts';

/** The body of `POST /rdcp/v1/forecast`. A single category name is parsed to a list; the duration, whose maximum is checked later, to seconds. */
export const forecastRequestSchema = z.strictObject({
  categories: categorySelection,
  duration: duration.default(10),
  protocol: z.string().optional(),
} satisfies Shape<ForecastRequest & { readonly protocol?: string }>);
