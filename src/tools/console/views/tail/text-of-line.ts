import { attributesText } from '../../../../wire/line-text.ts';
import type { TailLine } from '../../../../wire/streams.ts';

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

/**
 * The address of a trace, by the server's template such as `https://traces.example.com/trace/{traceId}`.
 * @returns `undefined` where there is none, or where it is not an http or https address
 */
export function traceLink(
  template: string | undefined,
  { traceId, spanId = '' }: Pick<TailLine, 'traceId' | 'spanId'>,
): string | undefined {
  if (template === undefined || traceId === undefined) return undefined;
  const ids: Readonly<Record<string, string>> = { traceId, spanId };
  const address = template.replace(/\{(traceId|spanId)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''));
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : undefined;
}
