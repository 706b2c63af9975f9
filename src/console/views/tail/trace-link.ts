import type { TailLine } from '../../../protocol/streams.ts';

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
