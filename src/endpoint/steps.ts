import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Principal } from '../access/principal.ts';
import type { ControlInstruments } from '../calls/metrics/types.ts';
import type { Address, Addressing } from '../control/tenancy/address.ts';
import type { ReportFault } from '../otel/report/reporter.ts';
import type { AuditDraft, AuditTrail } from '../trail/types.ts';
import type { AuditEntry, AuditedTail, AuditIdentity } from '../wire/audit-messages.ts';
import { AUTH_METHODS, type AuthMethod, HEADERS, PROTOCOL, REQUEST_HEADERS } from '../wire/constants.ts';
import { isRdcpError, type RdcpError, toRdcpError } from '../wire/errors.ts';
import { given } from '../wire/json-text.ts';
import type { TenantContext } from '../wire/messages.ts';
import { isIdentifier } from '../wire/names.ts';
import { escapeUnprintable } from '../wire/printable.ts';
import { REFUSALS } from '../wire/refusals.ts';
import type { Clock } from '../wire/time/clock.ts';
import { type Timestamp, timestamp } from '../wire/time.ts';
import {
  ANSWER_HEADERS,
  arrivedTooSlowly,
  contentType,
  endWithAnswer,
  endWithRefusal,
  errorAnswer,
} from './error-answer.ts';
import { preferredMediaType } from './middleware/headers.ts';
import { endConnection, factsOf, isArriving, type RequestFacts } from './request.ts';

export interface Tenancy extends Address {
  readonly tenantName?: string;
}

export interface RequestState {
  readonly facts: RequestFacts;
  requestId: string;
  /** True once the timeout was answered; the response must not be touched afterwards. */
  expired: boolean;
  /** Restarts the timeout with more time, in milliseconds, for work that is meant to last. */
  extend: ((extraMs: number) => void) | undefined;
  /** True for a repeated refusal that the trail already has. */
  refusalRepeated: boolean;
  /**
   * The refusal of a request over its quota, until its route lets it pass or throws it. Any error before that is answered
   * with this one, and leaves no other trace.
   */
  overQuota: RdcpError | undefined;
  principal?: Principal;
  tenancy?: Tenancy;
  form?: readonly (readonly [string, string])[];
}

export type Context = ParameterizedContext<RequestState>;

/** One step of an endpoint: it stores its result in the state, or throws an `RdcpError` to refuse. */
export type Step = (ctx: Context) => void | Promise<void>;

export interface Answer {
  readonly body: object;
  /** @default 200 */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The last step of an endpoint. Without an answer it has written one itself. */
export type Handler = (ctx: Context) => Answer | undefined | Promise<Answer | undefined>;

/** A value that an earlier step has set. A route without that step is a bug. */
export function required<K extends 'principal' | 'tenancy' | 'form'>(
  ctx: Context,
  name: K,
): NonNullable<RequestState[K]> {
  const value = ctx.state[name];
  if (value === undefined) throw new Error(`no step before this one has set ${name}`);
  return value;
}

/**
 * The outermost step: sets the headers of every answer, and converts every exception, and a request that takes too long,
 * to the endpoint's error format. Koa's own handler, which strips headers and answers in plain text, never sees an error.
 */
export function errorBoundary({
  timeoutSeconds,
  randomUUID,
  noteRefusal,
  addressing,
  fault,
}: {
  timeoutSeconds: number;
  randomUUID: () => string;
  noteRefusal: NoteRefusal;
  addressing: Addressing;
  fault: ReportFault;
}): Middleware<RequestState> {
  return async (ctx, next) => {
    const facts = factsOf(ctx.req) as RequestFacts;
    facts.mediaType = preferredMediaType(ctx);
    ctx.state = {
      facts,
      requestId: requestIdOf(ctx.req) ?? randomUUID(),
      expired: false,
      extend: undefined,
      refusalRepeated: false,
      overQuota: undefined,
    };
    setAnswerHeaders(ctx);
    const report = (error: unknown) => fault(error, `${ctx.method} ${routeOf(ctx)}`);
    try {
      await inTime(ctx, next, timeoutSeconds, report);
    } catch (thrown) {
      const error = ctx.state.overQuota ?? toRdcpError(thrown);
      // A server fault, which only its owner can fix.
      if (error.code === 'RDCP_SERVER_ERROR') report(thrown);
      noteRefusal(ctx, error);
      const { tenant } = ctx.state.tenancy ?? addressing.own(ctx.state.principal);
      if (error.code === 'RDCP_RATE_LIMITED') await endWithAnswer(ctx.req, ctx.res);
      else if (ctx.state.principal === undefined && error.status < 500) await endWithRefusal(ctx.req, ctx.res);
      const late = error.code === 'RDCP_TIMEOUT' && isArriving(ctx.req);
      if (late) endConnection(ctx.res);
      const answered = late ? arrivedTooSlowly() : { error, status: error.status };
      const { status, headers, body } = errorAnswer(ctx.req, answered.error, { status: answered.status, tenant });
      ctx.set({ ...headers });
      ctx.status = status;
      ctx.body = JSON.stringify(body);
    }
    if (!ctx.res.headersSent) ctx.res.setHeader(HEADERS.requestId, ctx.state.requestId);
  };
}

/** The path of the route: that of the request may be any text. */
function routeOf(ctx: object): string {
  return '_matchedRoute' in ctx ? String(ctx._matchedRoute) : 'a request';
}

/** A longer delay overflows Node's timers, which then fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Rejects when the request takes too long. The work continues; a retry with the same request id shows its
 * result. A later failure is reported, since it can no longer be sent.
 */
function inTime(
  { state }: Context,
  next: () => Promise<unknown>,
  seconds: number,
  report: (error: unknown) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    state.extend = (extraMs) => {
      clearTimeout(timer);
      timer = setTimeout(
        () => {
          state.expired = true;
          reject(REFUSALS.timeout(seconds + extraMs / 1000));
        },
        Math.min(seconds * 1000 + extraMs, MAX_DELAY_MS),
      ).unref();
    };
    state.extend(0);
    next().then(
      () => {
        clearTimeout(timer);
        resolve();
      },
      (error: unknown) => {
        clearTimeout(timer);
        if (state.expired && !isRdcpError(error)) report(error);
        reject(error);
      },
    );
  });
}

function requestIdOf(req: IncomingMessage): string | undefined {
  const given = req.headersDistinct[REQUEST_HEADERS.requestId];
  return given?.length === 1 && isIdentifier(given[0]!) ? given[0] : undefined;
}

/** RFC 6797. One year, as the preload lists require; sub-domains are the owner's decision. */
const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

const ANSWER_HEADER_LIST = Object.entries(ANSWER_HEADERS);

function setAnswerHeaders({ req, res, state }: Context): void {
  for (const [name, value] of ANSWER_HEADER_LIST) res.setHeader(name, value);
  const https = 'encrypted' in req.socket || state.facts.policy?.schemes.includes('https') === true;
  if (https) res.setHeader('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY);
}

export type Check = (ctx: Context) => void;

/** Runs every request through the checks, in order, and passes it on. */
export function checks(...sequence: readonly Check[]): Middleware<RequestState> {
  return (ctx, next) => {
    for (const check of sequence) check(ctx);
    return next();
  };
}

export function byPath(routers: ReadonlyMap<string, Router<RequestState>>): Middleware<RequestState> {
  const routes = new Map([...routers].map(([path, router]) => [path, router.routes() as Middleware<RequestState>]));
  return (ctx, next) => routes.get(ctx.state.facts.path)?.(ctx, next);
}

export function endpoint(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx) => run(sequence, ctx);
}

async function run(sequence: readonly Step[], ctx: Context): Promise<void> {
  for (const step of sequence) {
    const pending = step(ctx);
    // A step that has nothing to wait for takes no turn.
    if (pending !== undefined) await pending;
  }
}

/** Sends the endpoint's answer, unless the timeout was answered before. */
export function answer(handler: Handler): Step {
  return async (ctx) => {
    const given = await handler(ctx);
    if (given === undefined || ctx.state.expired) return;
    const { body, status = 200, headers } = given;
    if (headers !== undefined) ctx.set(headers);
    ctx.res.setHeader('Content-Type', contentType(ctx.state.facts.mediaType));
    ctx.status = status;
    ctx.body = JSON.stringify(body);
  };
}

export function timestampNow(clock: Pick<Clock, 'now'>): Timestamp {
  return timestamp(clock.now());
}

/** The first members of every answer, including the tenant in multi-tenant mode. */
export function opening(ctx: Context, clock: Pick<Clock, 'now'>) {
  const tenant: TenantContext | undefined = ctx.state.tenancy?.tenant;
  return {
    protocol: PROTOCOL,
    timestamp: timestampNow(clock),
    ...(tenant !== undefined && { tenant }),
  } as const;
}

export function identityOf(principal: Principal | undefined): AuditIdentity {
  if (principal === undefined) return {};
  const { method, userId, clientId, scopes, sessionId } = principal;
  return {
    ...{ method, userId, scopes },
    ...(clientId !== undefined && { clientId }),
    ...(sessionId !== undefined && { sessionId }),
  };
}

const MAX_USER_AGENT_LENGTH = 256;

/** The request's origin as the audit trail records it. */
export function sourceOf({ req, state }: Context): NonNullable<AuditEntry['source']> {
  const userAgent = req.headers['user-agent'];
  return {
    address: state.facts.client,
    ...(userAgent !== undefined && { userAgent: escapeUnprintable(userAgent.slice(0, MAX_USER_AGENT_LENGTH)) }),
  };
}

/** The members of an audit entry that say who sent a request, and whence. */
export function auditDraft(
  ctx: Context,
  principal: Principal | undefined,
  { tenantId, tenantName }: { readonly tenantId?: string | undefined; readonly tenantName?: string | undefined },
) {
  return {
    changes: [],
    identity: identityOf(principal),
    ...(tenantId !== undefined && { tenant: { id: tenantId, ...given({ name: tenantName }) } }),
    requestId: ctx.state.requestId,
    source: sourceOf(ctx),
  };
}

/** Codes that refuse a caller rather than a malformed request. Each writes an audit entry. */
const AUDITED: ReadonlySet<string> = new Set([
  'RDCP_AUTH_REQUIRED',
  'RDCP_AUTH_FAILED',
  'RDCP_FORBIDDEN',
  'RDCP_RATE_LIMITED',
]);

/** Records a refusal in the trail and counts it; other errors are ignored. */
type NoteRefusal = (ctx: Context, error: RdcpError) => void;

export function createNoteRefusal(
  trail: Pick<AuditTrail, 'refused'>,
  instruments: Pick<ControlInstruments, 'authFailure'>,
  addressing: Addressing,
): NoteRefusal {
  return (ctx, error) => {
    if (!AUDITED.has(error.code)) return;
    const { principal, tenancy, refusalRepeated } = ctx.state;
    instruments.authFailure(principal?.method ?? methodOf(error), reasonOf(error));
    // A client over its limit is one event, not an entry for every further request.
    if (refusalRepeated) return;
    // Recorded under the caller's own tenant, never under one that it named without permission.
    const { tenantId } = tenancy ?? addressing.own(principal);
    const action = principal === undefined && error.code !== 'RDCP_FORBIDDEN' ? 'authenticate' : 'authorize';
    const draft = auditDraft(ctx, principal, { tenantId });
    trail.refused({ ...draft, action, categories: [], outcome: 'denied', error: error.code }, ctx.path);
  };
}

function methodOf(error: RdcpError): AuthMethod | 'none' {
  return AUTH_METHODS.find((method) => method === error.method) ?? 'none';
}

/** A bounded set, because it becomes a metric attribute. */
function reasonOf({ code, details }: RdcpError): string {
  if (code === 'RDCP_AUTH_REQUIRED') return 'no_credential';
  if (code === 'RDCP_RATE_LIMITED') return 'rate_limited';
  return typeof details?.reason === 'string' ? details.reason : 'forbidden';
}

interface AccessEntry extends Pick<AuditDraft, 'action' | 'categories'> {
  readonly reason: string;
  readonly tail?: AuditedTail;
}

export type RecordAccess = (ctx: Context, entry: AccessEntry) => Promise<void>;

/**
 * In an outage of the store the entry follows when it is back, because then debug lines are needed most. At level
 * enterprise nothing is given that is not audited.
 */
export function createAccessAudit(trail: Pick<AuditTrail, 'record' | 'note'>, enterprise: boolean): RecordAccess {
  return async (ctx, { tail, ...entry }) => {
    const draft: AuditDraft = {
      ...auditDraft(ctx, required(ctx, 'principal'), required(ctx, 'tenancy')),
      ...entry,
      outcome: 'success',
      ...(tail && { otelrdcp_tail: tail }),
    };
    if (!enterprise) {
      trail.note(draft);
      return;
    }
    try {
      await trail.record(draft);
    } catch (cause) {
      if (isRdcpError(cause)) throw cause;
      throw REFUSALS.unaudited(cause);
    }
  };
}
