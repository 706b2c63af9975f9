import type { JsonValue, TailLine } from '../../../protocol/streams.ts';

/** Attributes on one line: `rows=12 sql="select 1"`. */
export function attributesText(attributes: TailLine['attributes']): string {
  let text = '';
  for (const [name, value] of Object.entries(attributes))
    text += `${text === '' ? '' : ' '}${name}=${valueText(value)}`;
  return text;
}

/** A string as it is where that is clear, anything else as JSON. */
export function valueText(value: JsonValue): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** A line as text, for the clipboard. */
export function lineText(line: TailLine, process: string): string {
  const { timestamp, category, message, attributes, tenant, traceId } = line;
  const parts = [
    timestamp,
    process,
    category,
    tenant,
    message,
    attributesText(attributes),
    traceId && `trace=${traceId}`,
  ];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** One JSON object a line. */
export function ndjson(lines: readonly TailLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Such as `tail-DATABASE-2026-01-31T00-00-00-000Z.ndjson`. */
export function fileName(categories: readonly string[], now: number): string {
  const names = categories.slice(0, 3).join('-');
  return `tail-${names}-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}.ndjson`;
}
