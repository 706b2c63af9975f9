import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Authenticator, ClientCertificate } from '../../auth/authenticator.ts';
import { assertScope, type Principal } from '../../auth/principal.ts';
import { authenticationRequired } from '../../auth/refusal.ts';
import { isRdcpError, type RdcpError } from '../../errors.ts';
import { escapeUnprintable } from '../../printable.ts';
import { REQUEST_HEADERS, type Scope } from '../../protocol/constants.ts';
import type { Access, Addressing } from '../../tenancy/address.ts';
import { addressKey, clientAddress } from '../client-address.ts';
import { http2Stream } from '../http2-request.ts';
import { count, type RateLimiter, senderOf } from '../rate-limit.ts';
import type { Context, Step } from '../steps.ts';
import { header } from './headers.ts';

/** The sender of a request; `undefined` without a credential. Rejects as {@link Authenticator.authenticate} does. */
export interface Identify {
  (req: IncomingMessage): Promise<Principal | undefined>;
  /** Authenticates it again: the credential may have expired or been revoked since. */
  again(req: IncomingMessage): Promise<Principal | undefined>;
}

const IDENTITY = Symbol('identity');

interface IdentifiedRequest extends IncomingMessage {
  [IDENTITY]?: Promise<Principal | undefined>;
}

/**
 * Authenticates each request once.
 * @param anonymous counts requests without a valid credential, by address
 */
export function createIdentify(authenticator: Authenticator, anonymous: RateLimiter): Identify {
  const again = (req: IncomingMessage) =>
    authenticator.authenticate({
      headers: req.headersDistinct,
      clientCertificate: clientCertificateOf(req),
      sender: senderOf(req, anonymous),
      message: req,
    });
  const once = (req: IdentifiedRequest) => {
    req[IDENTITY] ??= again(req);
    return req[IDENTITY];
  };
  return Object.assign(once, { again });
}

const shown = new WeakMap<object, ClientCertificate>();

/**
 * The client certificate of the connection's TLS handshake. Headers in which proxies pass on certificates are never
 * read, because any client can send them.
 */
export function clientCertificateOf(req: IncomingMessage): ClientCertificate | undefined {
  const connection = http2Stream(req)?.session ?? req.socket;
  const known = shown.get(connection);
  if (known !== undefined) return known;
  const { authorized = false, getPeerX509Certificate } = req.socket as Partial<TLSSocket>;
  const certificate = getPeerX509Certificate?.call(req.socket);
  // Node reports a resumed session as authorized even without a certificate, so a certificate is required.
  if (certificate === undefined) return undefined;
  const presented = { certificate, authorized };
  shown.set(connection, presented);
  return presented;
}

/**
 * Authenticates the caller. Requests without a valid credential are counted per address; over quota they get 429, while
 * valid credentials from the same address are still served.
 * @param probes counts requests without a credential; a wrong credential counts in `limiter`. @default limiter
 * @param anonymous whether a request may continue without a credential; `open` also ignores a wrong one
 */
export function authenticate(
  {
    identify,
    methods,
    limiter,
    probes = limiter,
  }: Pick<Authenticator, 'methods'> & { identify: Identify; limiter: RateLimiter; probes?: RateLimiter },
  anonymous: 'refused' | 'allowed' | 'open' = 'refused',
): Step {
  const without = (ctx: Context, failure?: RdcpError) => {
    // A server error says nothing about the credential, so it does not count against the client.
    const quota = failure === undefined ? probes : limiter;
    if (failure === undefined || failure.status < 500) count(ctx, quota, addressKey(clientAddress(ctx.req)));
    if (anonymous === 'open') return;
    if (failure !== undefined) throw failure;
    if (anonymous === 'refused') throw authenticationRequired(methods);
  };
  return (ctx) =>
    identify(ctx.req).then(
      (principal) => {
        if (principal === undefined) without(ctx);
        else ctx.state.principal = principal;
      },
      (failure: unknown) => {
        if (!isRdcpError(failure)) throw failure;
        without(ctx, failure);
      },
    );
}

/** Requires one of the scopes; `admin` implies all. */
export function authorize(...scopes: readonly [Scope, ...Scope[]]): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal !== undefined) assertScope(principal, scopes);
  };
}

const MAX_TENANT_NAME_LENGTH = 200;

/** Determines the tenant that the request addresses: the credential decides, and headers must agree. */
export function tenancy(addressing: Addressing, access: Access): Step {
  return (ctx) => {
    const { req, state } = ctx;
    const tenantIds = req.headersDistinct[REQUEST_HEADERS.tenantId] ?? [];
    const isolationLevel = header(req, REQUEST_HEADERS.isolationLevel);
    const address = addressing.resolve(state.principal, { tenantIds, isolationLevel }, access);
    const name = header(req, REQUEST_HEADERS.tenantName);
    state.tenancy = name === undefined ? address : { ...address, tenantName: inTrail(name) };
  };
}

/** The name decides nothing but is recorded: it is truncated and stripped of control characters. */
function inTrail(name: string): string {
  return escapeUnprintable(name.slice(0, MAX_TENANT_NAME_LENGTH));
}
