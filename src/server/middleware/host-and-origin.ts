import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ServerConfig } from '../../config.ts';
import { RdcpError } from '../../errors.ts';
import { createHostCheck, hostNameOf } from '../../hosts.ts';
import { CONSOLE_PATHS } from '../../protocol/constants.ts';
import { rawPath, targetOriginOf } from '../request-target.ts';
import type { Context, Step } from '../steps.ts';
import { header } from './headers.ts';

/** What our own listener requires of `Host` and `Origin`. */
export interface HostPolicy {
  /** Whether the server accepts a host name, given in lower case and without its port. */
  allows(host: string, socket: Socket): boolean;
  /** Schemes by which clients reach the server. */
  readonly schemes: readonly ('http' | 'https')[];
}

export function createHostPolicy({ host, allowedHosts, tls, behindTlsProxy }: ServerConfig): HostPolicy {
  return {
    allows: createHostCheck({ host, allowedHosts }),
    schemes: tls !== undefined ? ['https'] : behindTlsProxy ? ['http', 'https'] : ['http'],
  };
}

const POLICY = Symbol('host policy');

/** A request that came through our own listener. */
interface ListenedRequest extends IncomingMessage {
  [POLICY]?: HostPolicy;
}

/** Marks a request as received by our own listener. */
export function applyHostPolicy(req: ListenedRequest, policy: HostPolicy): void {
  req[POLICY] = policy;
}

/** `undefined` for a request in an application that mounts the endpoint and decides on its hosts itself. */
export function hostPolicyOf(req: ListenedRequest): HostPolicy | undefined {
  return req[POLICY];
}

/**
 * Blocks web pages. A DNS rebinding attack sends a foreign `Host`; a cross-site request sends a foreign `Origin`. When
 * an application mounts the endpoint, it decides on its hosts, and an `Origin` must match the request's host.
 */
export function hostAndOrigin(): Step {
  return (ctx) => {
    const policy = hostPolicyOf(ctx.req);
    const target = targetOriginOf(ctx.req);
    const stated = header(ctx.req, 'host')?.toLowerCase();
    // RFC 9112, section 3.2.2: with an absolute target, Host must be present but is ignored.
    const host = target?.authority ?? stated;
    if (policy !== undefined) {
      const optional = isHttp10(ctx.req);
      const name = nameOf(host, optional);
      if (target !== undefined) nameOf(stated, optional);
      if (name !== undefined && !policy.allows(name, ctx.req.socket)) {
        throw new RdcpError(
          'RDCP_FORBIDDEN',
          'This host name is not allowed: add it to server.allowedHosts if clients should use it',
          { details: { field: 'Host', option: 'server.allowedHosts' } },
        );
      }
      if (target !== undefined && !policy.schemes.includes(target.scheme)) {
        throw new RdcpError('RDCP_FORBIDDEN', `This server does not answer for ${target.scheme} here`);
      }
    }
    const origin = header(ctx.req, 'origin')?.toLowerCase();
    const schemes = policy?.schemes ?? ['http', 'https'];
    if (origin !== undefined && !schemes.some((scheme) => origin === `${scheme}://${host}`)) {
      throw new RdcpError('RDCP_FORBIDDEN', 'Requests from other origins are not accepted');
    }
  };
}

/** The host without its port. @param optional whether it may be missing */
function nameOf(host: string | undefined, optional: boolean): string | undefined {
  if (host === undefined && optional) return undefined;
  const name = hostNameOf(host ?? '');
  if (name === undefined) throw new RdcpError('RDCP_MALFORMED_REQUEST', 'Host must be a host name and a port');
  return name;
}

/** HTTP/1.0 has no `Host`. Browsers, which this check is for, do not use it. */
function isHttp10({ httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.0';
}

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
