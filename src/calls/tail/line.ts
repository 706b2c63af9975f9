import { z } from 'zod';
import { decodeJson } from '../../wire/decode.ts';
import { serialized } from '../../wire/json-text.ts';
import { isCategoryName, isIdentifier } from '../../wire/names.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import type { TailLine } from '../../wire/streams.ts';
import { parseTimestamp } from '../../wire/time.ts';

/** What stands for a hidden value, as in every output. */
const REDACTED = '[redacted]';

/** A line of a tail, ready to send. */
export interface Line {
  readonly category: string;
  readonly tenant: string | undefined;
  /** Whether it is from before the tail began. */
  readonly history: boolean;
  /** A `TailLine` as JSON, without line breaks and other characters that a terminal or an event stream would obey. */
  readonly text: string;
}

const schema: z.ZodType<TailLine> = z.object({
  timestamp: z.string().refine((text) => parseTimestamp(text) !== undefined),
  category: z.string().refine(isCategoryName),
  message: z.string(),
  attributes: z.custom<TailLine['attributes']>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  ),
  traceId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .exactOptional(),
  spanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .exactOptional(),
  tenant: z.string().refine(isIdentifier).exactOptional(),
  instance: z.string().max(64),
  source: z.string().exactOptional(),
  history: z.literal(true).exactOptional(),
});

export function lineOf(line: TailLine): Line {
  return withText(line, JSON.stringify(line));
}

/** The text of a line, with its attributes' names and without their values. */
export function withoutValues(text: string): string {
  const line: TailLine = JSON.parse(text);
  const attributes = Object.fromEntries(Object.keys(line.attributes).map((name) => [name, REDACTED]));
  return lineOf({ ...line, attributes }).text;
}

/** The line of another process, rebuilt from the fields that were checked; `undefined` if malformed. */
export function decodeLine(text: string): Line | undefined {
  const line = decodeJson(schema, text);
  const json = line && serialized(line);
  return json === undefined ? undefined : withText(line!, json);
}

function withText({ category, tenant, history }: TailLine, json: string): Line {
  return { category, tenant, history: history === true, text: escapeUnprintable(json) };
}
