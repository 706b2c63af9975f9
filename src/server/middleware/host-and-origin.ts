import type { IncomingMessage } from 'node:http';
import { RdcpError } from '../../errors.ts';
import { hostNameOf } from '../../hosts.ts';
import type { Step } from '../context.ts';
import { hostPolicyOf } from '../host-policy.ts';
import { targetOriginOf } from '../request-target.ts';
import { header } from './headers.ts';

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
