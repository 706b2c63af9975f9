import { z } from 'zod';
import { REDACTED } from '../../wire/credentials.ts';
import type { DebugRecord } from '../../wire/debug-record.ts';
import { decodeJson } from '../../wire/decode.ts';
import { serialized } from '../../wire/json-text.ts';
import { isCategoryName, isIdentifier } from '../../wire/names.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import type { TailLine } from '../../wire/streams.ts';
import { parseTimestamp } from '../../wire/time.ts';

/** A line of a tail, ready to send. */
export interface Line {
  readonly category: string;
  readonly tenant: string | undefined;
  readonly timestamp: string;
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
  recorded: z.literal(true).exactOptional(),
});

export function lineOf(line: TailLine): Line {
  return withText(line, JSON.stringify(line));
}

/** The parts of a process that its lines name. */
export interface LineSource {
  readonly instanceId: string;
  /** The logger of another library that makes the calls of a category. @default none */
  readonly sourceOf?: ((category: string) => string | undefined) | undefined;
}

/** @param given `recorded` for a line that was made before its reader asked */
export function lineOfRecord(
  { severity: _, ...record }: DebugRecord,
  { instanceId, sourceOf }: LineSource,
  given: Pick<TailLine, 'recorded'> = {},
): Line {
  const source = sourceOf?.(record.category);
  return lineOf({ ...record, instance: instanceId, ...(source !== undefined && { source }), ...given });
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

function withText({ category, tenant, timestamp }: TailLine, json: string): Line {
  return { category, tenant, timestamp, text: escapeUnprintable(json) };
}
