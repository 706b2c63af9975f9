import type { z } from 'zod';

/** Decodes JSON of an untrusted origin; `undefined` if it is malformed, or not what the schema describes. */
export function decodeJson<T>(schema: z.ZodType<T>, json: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}
