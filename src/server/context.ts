import type { IncomingMessage } from 'node:http';
import type { ParameterizedContext } from 'koa';
import type { Principal } from '../auth/principal.ts';
import { escapeUnprintable } from '../printable.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { AuditEntry, AuditIdentity } from '../protocol/messages.ts';
import type { Address } from '../tenancy/address.ts';
import { clientAddress } from './client-address.ts';

/** Whose settings a request addresses. */
export interface Tenancy extends Address {
  /** The `X-RDCP-Tenant-Name` that came along, made safe for the trail. */
  readonly tenantName?: string;
}

/** What the steps of a request tell each other. */
export interface RequestState {
  requestId: string;
  /** True when the client named the request id itself. */
  requestIdGiven: boolean;
  mediaType: string;
  /** True once the time-out was answered: nothing that comes later may touch the response. */
  expired: boolean;
  /** True for a refusal that repeats one which the trail already has. */
  refusalRepeated: boolean;
  /** Who asks; absent without a valid credential. */
  principal?: Principal;
  tenancy?: Tenancy;
  control?: ControlRequest;
  /** Fields of a form, in order. */
  form?: readonly (readonly [string, string])[];
}

export type Context = ParameterizedContext<RequestState>;

/** One step of an endpoint: it leaves what it found out in the state, or refuses by throwing an `RdcpError`. */
export type Step = (ctx: Context) => void | Promise<void>;

export interface Answer {
  /** An object, or JSON that is written already. */
  readonly body: object | string;
  /** @default 200 */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The last step of an endpoint. */
export type Handler = (ctx: Context) => Answer | Promise<Answer>;

/** The only value of a header that may be sent once; the first of several, which an earlier step has refused. */
export function header(req: IncomingMessage, name: Lowercase<string>): string | undefined {
  return req.headersDistinct[name]?.[0];
}

/** What a step left for the ones after it. A route table that lacks that step is a defect of ours. */
export function required<K extends 'principal' | 'tenancy' | 'control' | 'form'>(
  ctx: Context,
  name: K,
): NonNullable<RequestState[K]> {
  const value = ctx.state[name];
  if (value === undefined) throw new Error(`no step before this one has set ${name}`);
  return value;
}

/** The principal as the audit trail writes it. */
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

/** A trail in memory keeps thousands of entries of the same few. */
const identities = new WeakMap<Principal, AuditIdentity>();

const MAX_USER_AGENT_LENGTH = 256;

/** Where the request came from, as the audit trail writes it. */
export function sourceOf(req: IncomingMessage): NonNullable<AuditEntry['source']> {
  const userAgent = req.headers['user-agent'];
  return {
    address: clientAddress(req),
    ...(userAgent !== undefined && { userAgent: escapeUnprintable(userAgent.slice(0, MAX_USER_AGENT_LENGTH)) }),
  };
}
