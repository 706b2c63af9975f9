import { RdcpError } from '../../errors.ts';
import { CONSOLE_PATHS } from '../../protocol/constants.ts';
import type { Context, Step } from '../context.ts';
import { rawPath } from '../request-target.ts';

/**
 * Refuses what pages of other origins make a browser send (Fetch Metadata). Unlike `Origin`, these headers come with every
 * request, also of images, scripts and frames. A link to the console works from anywhere: its page is the same for everybody.
 */
export function fetchMetadata(): Step {
  return (ctx) => {
    const sites = valuesOf(ctx, 'sec-fetch-site');
    if (!sites.some((site) => site === 'cross-site' || site === 'same-site')) return;
    if (isLinkToConsole(ctx)) return;
    throw new RdcpError('RDCP_FORBIDDEN', 'Requests from other sites are not accepted');
  };
}

function isLinkToConsole(ctx: Context): boolean {
  const path = rawPath(ctx.req.url);
  return (
    ctx.method === 'GET' &&
    (path === CONSOLE_PATHS.page || path === CONSOLE_PATHS.folder) &&
    only(valuesOf(ctx, 'sec-fetch-mode'), 'navigate') &&
    only(valuesOf(ctx, 'sec-fetch-dest'), 'document')
  );
}

function only(values: readonly string[], value: string): boolean {
  return values.length === 1 && values[0] === value;
}

function valuesOf({ req }: Context, name: Lowercase<string>): readonly string[] {
  return (req.headersDistinct[name] ?? []).flatMap((value) => value.split(',')).map((value) => value.trim());
}
