import type { IncomingMessage } from 'node:http';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Principal } from '../auth/principal.ts';
import { escapeUnprintable } from '../printable.ts';
import type { AuditEntry, AuditIdentity } from '../protocol/audit-messages.ts';
import { JSON_MEDIA_TYPE } from '../protocol/constants.ts';
import type { Address } from '../tenancy/address.ts';
import { clientAddress } from './client-address.ts';

/** The tenant that a request addresses. */
export interface Tenancy extends Address {
  /** The value of `X-RDCP-Tenant-Name`, sanitized for the trail. */
  readonly tenantName?: string;
}

/** State shared by the steps of a request. */
export interface RequestState {
  requestId: string;
  /** True when the client sent its own request id. */
  requestIdGiven: boolean;
  mediaType: string;
  /** True once the timeout was answered; the response must not be touched afterwards. */
  expired: boolean;
  /** Restarts the timeout with more time, in milliseconds, for work that is meant to last. */
  extend: ((extraMs: number) => void) | undefined;
  /** True for a repeated refusal that the trail already has. */
  refusalRepeated: boolean;
  /** The authenticated caller; absent without a valid credential. */
  principal?: Principal;
  tenancy?: Tenancy;
  /** Form fields, in order. */
  form?: readonly (readonly [string, string])[];
}

export type Context = ParameterizedContext<RequestState>;

/** One step of an endpoint: it stores its result in the state, or throws an `RdcpError` to refuse. */
export type Step = (ctx: Context) => void | Promise<void>;

export interface Answer {
  /** An object, or serialized JSON. */
  readonly body: object | string;
  /** @default 200 */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The last step of an endpoint. */
export type Handler = (ctx: Context) => Answer | Promise<Answer>;

/** A value that an earlier step has set. A route without that step is a bug. */
export function required<K extends 'principal' | 'tenancy' | 'form'>(
  ctx: Context,
  name: K,
): NonNullable<RequestState[K]> {
  const value = ctx.state[name];
  if (value === undefined) throw new Error(`no step before this one has set ${name}`);
  return value;
}

/** Runs every request through the steps, in order, and passes it on. */
export function steps(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx, next) => {
    const pending = run(sequence, ctx);
    return pending === undefined ? next() : pending.then(next);
  };
}

/** Runs a request through the steps; the last one answers it. */
export function endpoint(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx) => run(sequence, ctx);
}

/** A synchronous step costs no microtask, and most steps are synchronous. */
function run(sequence: readonly Step[], ctx: Context, from = 0): Promise<void> | undefined {
  for (let index = from; index < sequence.length; index += 1) {
    const pending = (sequence[index] as Step)(ctx);
    if (pending !== undefined) return pending.then(() => run(sequence, ctx, index + 1));
  }
  return undefined;
}

/** Sends the endpoint's answer, unless the timeout was answered before. */
export function answer(handler: Handler): Step {
  return (ctx) => {
    const answered = handler(ctx);
    if (!(answered instanceof Promise)) return write(ctx, answered);
    return answered.then((late) => write(ctx, late));
  };
}

function write(ctx: Context, { body, status = 200, headers }: Answer): void {
  if (ctx.state.expired) return;
  if (headers !== undefined) ctx.set(headers);
  ctx.res.setHeader('Content-Type', contentType(ctx.state.mediaType));
  if (status !== 200) ctx.status = status;
  ctx.body = typeof body === 'string' ? body : JSON.stringify(body);
}

export function contentType(mediaType: string = JSON_MEDIA_TYPE): string {
  return `${mediaType}; charset=utf-8`;
}

/** The principal as the audit trail records it. */
export function identityOf(principal: Principal | undefined): AuditIdentity {
  if (principal === undefined) return {};
  const known = identities.get(principal);
  if (known !== undefined) return known;
  const { method, userId, clientId, scopes, sessionId } = principal;
  const identity = {
    method,
    userId,
    ...(clientId !== undefined && { clientId }),
    scopes,
    ...(sessionId !== undefined && { sessionId }),
  };
  identities.set(principal, identity);
  return identity;
}

/** Shared, because a trail in memory keeps thousands of entries of a few identities. */
const identities = new WeakMap<Principal, AuditIdentity>();

const MAX_USER_AGENT_LENGTH = 256;

/** The request's origin as the audit trail records it. */
export function sourceOf(req: IncomingMessage): NonNullable<AuditEntry['source']> {
  const userAgent = req.headers['user-agent'];
  return {
    address: clientAddress(req),
    ...(userAgent !== undefined && { userAgent: escapeUnprintable(userAgent.slice(0, MAX_USER_AGENT_LENGTH)) }),
  };
}
