import type { IncomingMessage } from 'node:http';
import type { RouterContext } from '@koa/router';
import { RdcpError } from '../errors.ts';
import { PATH_PREFIX, PATHS, PROTOCOL } from '../protocol/constants.ts';
import type { MetadataPath } from './metadata-path.ts';
import type { Step } from './steps.ts';

/** The origin of a request target in absolute form, which replaces the `Host` header. */
export interface TargetOrigin {
  readonly scheme: 'http' | 'https';
  /** In lower case, otherwise as sent and unchecked. */
  readonly authority: string;
}

/** RFC 9112, section 3.2.2. */
const ABSOLUTE = /^(https?):\/\/([^/?#]*)(.*)$/is;

const ORIGIN = Symbol('target origin');

interface AddressedRequest extends IncomingMessage {
  [ORIGIN]?: TargetOrigin;
}

/** The target in origin form: path and query as sent. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = ABSOLUTE.exec(url)?.[3];
  if (rest === undefined) return url;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Rewrites an absolute target to origin form, which every step reads, and keeps its origin. */
export function readAsOriginForm(req: AddressedRequest): void {
  if (req.url === undefined || req.url.startsWith('/')) return;
  const [, scheme, authority] = ABSOLUTE.exec(req.url) ?? [];
  if (scheme === undefined || authority === undefined) return;
  req[ORIGIN] = { scheme: scheme.toLowerCase() as TargetOrigin['scheme'], authority: authority.toLowerCase() };
  req.url = originForm(req.url);
}

/** `undefined` for a target in any other form. */
export function targetOriginOf(req: AddressedRequest): TargetOrigin | undefined {
  return req[ORIGIN];
}

/** The path as sent, neither decoded nor normalized, so that each endpoint has exactly one spelling. */
export function rawPath(url = ''): string {
  const target = originForm(url);
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/** Whether a request is for the endpoint, in an application that mounts it. */
export function isOurs(req: IncomingMessage, metadataPath: MetadataPath | undefined): boolean {
  const path = rawPath(req.url);
  return path.startsWith(PATH_PREFIX) || path === PATHS.wellKnown || metadataPath?.isOurs(path, req) === true;
}

const VERSION = /^\/rdcp\/v([1-9]\d*)\//;

/** Accepts only exact paths of this server. */
export function knownPath(known: ReadonlySet<string>): Step {
  return (ctx) => {
    const path = rawPath(ctx.req.url);
    if (known.has(path)) return;
    const version = VERSION.exec(path)?.[1];
    if (version !== undefined && version !== '1') throw versionUnsupported();
    throw new RdcpError('RDCP_NOT_FOUND', 'There is no such resource');
  };
}

/** The error for a protocol version that the server does not support. */
export function versionUnsupported(): RdcpError {
  return new RdcpError('RDCP_VERSION_UNSUPPORTED', `This server speaks ${PROTOCOL}`, {
    details: { supported: [PROTOCOL] },
  });
}

/** Runs after the router: a known path with an unsupported method. `OPTIONS` has no special meaning. */
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
