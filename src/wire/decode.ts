import type { z } from 'zod';
import { parsedJson } from './json-text.ts';

/** Decodes JSON of an untrusted origin; `undefined` if it is malformed, or not what the schema describes. */
export function decodeJson<T>(schema: z.ZodType<T>, json: string): T | undefined {
  return schema.safeParse(parsedJson(json)).data;
}
