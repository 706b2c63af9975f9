import { shellWords } from '../../../../wire/shell-words.ts';
import { formatDuration } from '../../../../wire/time.ts';
import type { TailSettings } from './tail-session.ts';

// A tail as a command for a shell.

/** The tail by the command `rdcp`; `undefined` for a number of processes that it has no option for. */
export function rdcpCommand(settings: TailSettings): string | undefined {
  const { categories, seconds, rate, log, tenant, target, filter, when, since, past } = settings;
  const { match = {}, instances } = target ?? {};
  if ((instances?.count ?? 1) > 1) return undefined;
  const given: readonly (readonly [option: string, value?: string | number])[] = [
    ['--for', formatDuration(seconds)],
    ...(since === undefined ? [] : [['--since', formatDuration(since)] as const]),
    ...(past ? [['--past'] as const] : []),
    ...(tenant === undefined ? [] : [['--tenant', tenant] as const]),
    ...(rate === undefined ? [] : [['--rate', rate] as const]),
    ...(log ? [['--also-log'] as const] : []),
    ...Object.entries(match).map(([name, value]) => ['--match', `${name}=${value}`] as const),
    ...(filter?.where === undefined ? [] : [['--where', filter.where] as const]),
    ...(filter?.text === undefined ? [] : [['--text', filter.text] as const]),
    ...(filter?.sample === undefined ? [] : [['--sample', filter.sample] as const]),
    ...(when?.failed ? [['--on-error'] as const] : []),
    ...(when?.slowerThan === undefined ? [] : [['--slower-than', when.slowerThan] as const]),
    ...(instances?.ids ?? []).map((id) => ['--instance', id] as const),
    ...(instances?.version === undefined ? [] : [['--version', instances.version] as const]),
    ...(instances?.count === undefined ? [] : [['--one'] as const]),
    ...(instances?.percent === undefined ? [] : [['--percent', instances.percent] as const]),
  ];
  const options = given.flatMap(([option, value]) => (value === undefined ? [option] : [option, String(value)]));
  return shellWords('rdcp', 'tail', ...categories, ...options);
}

/** The tail by curl, with the API key of the environment. @param url of the endpoint for tails */
export function curlCommand({ tenant, seconds, ...body }: TailSettings, url: string): string {
  return [
    shellWords('curl', '-N', url),
    '-H "X-RDCP-API-Key: $RDCP_API_KEY"',
    ...(tenant === undefined ? [] : [shellWords('-H', `X-RDCP-Tenant-ID: ${tenant}`)]),
    "-H 'Content-Type: application/json'",
    shellWords('-d', JSON.stringify({ ...body, duration: seconds })),
  ].join(' ');
}
