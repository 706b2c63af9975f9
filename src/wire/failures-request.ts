import { z } from 'zod';
import { MAX_FAILURES } from './constants.ts';
import { categorySelection, duration, statedProtocol } from './control-request.ts';
import type { Shape } from './documented.ts';
import type { FailuresRequest } from './streams.ts';
import { targetSchema, whenSchema } from './target.ts';

/** The body of `POST /rdcp/v1/failures`. A single category name is parsed to a list, the duration to seconds. */
export const failuresRequestSchema = z.strictObject({
  categories: categorySelection.optional(),
  since: duration.optional(),
  target: targetSchema.optional(),
  when: whenSchema.optional(),
  limit: z.number().int().min(1).max(MAX_FAILURES).default(50),
  protocol: statedProtocol,
} satisfies Shape<FailuresRequest & { readonly protocol?: string }>);
