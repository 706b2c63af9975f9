import { shellWords } from '../../../../wire/shell-words.ts';
import { formatDuration } from '../../../../wire/time.ts';
import { commandOptions } from '../../../client/fields.ts';
import type { TailSettings } from './tail-session.ts';

// A tail as a command for a shell.

/** The tail by the command `rdcp`; `undefined` for a number of processes that it has no option for. */
export function rdcpCommand({ categories, seconds, rate, log, tenant, ...part }: TailSettings): string | undefined {
  const options = commandOptions(part);
  if (options === undefined) return undefined;
  const given = [
    ...['--for', formatDuration(seconds)],
    ...(tenant === undefined ? [] : ['--tenant', tenant]),
    ...(rate === undefined ? [] : ['--rate', String(rate)]),
    ...(log ? ['--also-log'] : []),
  ];
  return shellWords('rdcp', 'tail', ...categories, ...given, ...options);
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
