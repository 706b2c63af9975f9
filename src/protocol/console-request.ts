import { z } from 'zod';

/** The body of `POST /rdcp/v1/console/session`. */
export const consoleSessionSchema = z.strictObject({
  code: z.string().min(1, 'must not be empty').max(256),
  protocol: z.string().optional(),
});
