import type { IncomingMessage } from 'node:http';
import type { RouterContext } from '@koa/router';
import { RdcpError } from '../../errors.ts';
import { PATH_PREFIX, PATHS, PROTOCOL } from '../../protocol/constants.ts';
import type { Step } from '../context.ts';
import type { MetadataPath } from '../metadata-path.ts';
import { originForm } from '../request-target.ts';

const VERSION = /^\/rdcp\/v([1-9]\d*)\//;

/** The path as it was sent: nothing is decoded or normalised, so that no two spellings lead to one endpoint. */
export function rawPath(url = ''): string {
  const target = originForm(url);
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/** Whether a request is for us, in an application that mounted us. */
export function isOurs(req: IncomingMessage, metadataPath: MetadataPath | undefined): boolean {
  const path = rawPath(req.url);
  return path.startsWith(PATH_PREFIX) || path === PATHS.wellKnown || metadataPath?.isOurs(path, req) === true;
}

/** Lets exact paths of this server through and no other. */
export function knownPath(known: ReadonlySet<string>): Step {
  return (ctx) => {
    const path = rawPath(ctx.req.url);
    if (known.has(path)) return;
    const version = VERSION.exec(path)?.[1];
    if (version !== undefined && version !== '1') throw versionUnsupported();
    throw new RdcpError('RDCP_NOT_FOUND', 'There is no such resource');
  };
}

/** A version that the client states and that is not ours. */
export function versionUnsupported(): RdcpError {
  return new RdcpError('RDCP_VERSION_UNSUPPORTED', `This server speaks ${PROTOCOL}`, {
    details: { supported: [PROTOCOL] },
  });
}

/** After the router: a path that is known, by a method that it has not. `OPTIONS` is one like any other. */
export function methodNotAllowed(): Step {
  return (ctx) => {
    const { matched = [] } = ctx as Partial<RouterContext>;
    const allow = matched
      .flatMap(({ methods }) => methods)
      .sort()
      .join(', ');
    throw new RdcpError('RDCP_METHOD_NOT_ALLOWED', `This resource allows ${allow}`, { headers: { Allow: allow } });
  };
}
