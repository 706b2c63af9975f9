import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { TokenSession } from '../../store/tokens.ts';
import { allowSchema, limitsOf } from '../../wire/allow.ts';
import { SCOPES, type Scope } from '../../wire/constants.ts';
import type { ReadonlyArrays } from '../../wire/documented.ts';
import { unavailable } from '../../wire/errors.ts';
import type { TokenGrant } from '../../wire/oauth-messages.ts';
import { assertBinding } from '../authenticator.ts';
import {
  ALLOW_CLAIM,
  APPROVAL_CLAIM,
  CLOCK_TOLERANCE_SECONDS,
  KEY_CLAIM,
  TENANT_CLAIM,
  TENANTS_CLAIM,
} from '../jwt-claims.ts';
import type { Principal } from '../principal.ts';
import { signed } from '../tickets/issue.ts';
import type { OwnTokens } from './own-tokens.ts';
import {
  badCredential,
  othersToken,
  type Parameters,
  requestedScopes,
  type TokenCall,
  withOAuthError,
} from './token-call.ts';

export interface IssueRequest {
  /** Principal of the token. Limits its lifetime and scopes. */
  readonly principal: Principal;
  readonly scopes: readonly Scope[];
  readonly parent?: string | undefined;
  readonly refreshable: boolean;
}

interface RefreshAttempt {
  readonly session: TokenSession;
  readonly data: SessionData;
  readonly presented: string;
  readonly principal: Principal;
}

export function sessionsOf({ store, revocations, settings, keys, clock, allowedNow }: OwnTokens) {
  async function begin({ principal, scopes, parent, refreshable }: IssueRequest) {
    const now = clock.now();
    const sessionId = newSessionId(parent, randomBytes);
    // A session does not outlive the credential that it was begun with.
    const sessionEnd = Math.min(
      now + settings.refreshTokenSeconds * 1000,
      principal.expiresAt ?? Number.POSITIVE_INFINITY,
    );
    const grant = accessToken(principal, scopes, sessionId, sessionEnd);
    if (!refreshable) return { sessionId, grant };
    const tagKey = random(32);
    const { token, hash: current } = newRefreshToken(sessionId, tagKey, randomBytes);
    const { userId, clientId, tenantId, tenants, keyId, certificateThumbprint } = principal;
    const identity = { userId, clientId, tenantId, tenants, keyId, certificateThumbprint };
    const data = encodeSession({ ...identity, ...limitsOf(principal), scopes, tagKey });
    await fromStore(store.begin({ id: sessionId, current, data, expiresAt: sessionEnd }, now));
    return { sessionId, grant: { ...grant, refresh_token: token } };
  }

  /** Exchanges a refresh token (RFC 6749, section 6) with rotation (RFC 9700, section 4.14.2). @param client authenticated client, if any */
  async function refresh(
    call: TokenCall,
    token: string,
    parameters: Parameters,
    client: Principal | undefined,
  ): Promise<TokenGrant> {
    const found = await find(token);
    if (found === undefined) throw badCredential('invalid_grant', 'bearer');
    const { session, data, principal, presented } = found;
    const next = newRefreshToken(session.id, data.tagKey, randomBytes);
    // First check: reuse of a replaced token always revokes its session, even if the request is invalid otherwise.
    if (presented !== session.current) await rotate(found, next.hash, call);
    const named = client?.clientId ?? parameters.get('client_id');
    if (named !== undefined && named !== principal.clientId) throw othersToken('invalid_grant', principal);
    try {
      assertBinding(principal, call.clientCertificate);
    } catch (error) {
      throw withOAuthError(error, 'invalid_grant');
    }
    const granted = stillGranted(found);
    if (granted === undefined) throw badCredential('invalid_grant', 'bearer');
    call.identified(granted);
    const scopes = requestedScopes(parameters, granted);
    await rotate(found, next.hash, call);
    try {
      const grant = accessToken(granted, scopes, session.id, session.expiresAt);
      const reason = 'refresh token';
      await call.note({ action: 'token.refresh', outcome: 'success', principal: { ...granted, scopes }, reason });
      return { ...grant, refresh_token: next.token };
    } catch (error) {
      // The old token is used up and the new one is not returned, so the session is unusable.
      await end(session.id).catch(() => undefined);
      throw error;
    }
  }

  /** Revokes a session in all processes. Resolves with false if it was revoked before. */
  async function end(sessionId: string): Promise<boolean> {
    const now = clock.now();
    const until = lastTokenEnd(now);
    const ended = await fromStore(store.revoke(sessionId, until, now));
    revocations.add(sessionId, until);
    return ended;
  }

  function lastTokenEnd(now: number): number {
    return now + (settings.accessTokenSeconds + 2 * CLOCK_TOLERANCE_SECONDS) * 1000;
  }

  function accessToken(
    { userId, clientId, tenantId, tenants, allow, approval, keyId, certificateThumbprint }: Principal,
    scopes: readonly Scope[],
    sessionId: string,
    sessionEnd: number,
  ): TokenGrant {
    const now = clock.now();
    const iat = Math.floor(now / 1000);
    const exp = Math.floor(Math.min(now + settings.accessTokenSeconds * 1000, sessionEnd) / 1000);
    const scope = scopes.join(' ');
    const token = signed({ ...settings, current: keys.current }, 'at+jwt', {
      sub: userId,
      client_id: clientId,
      [TENANT_CLAIM]: tenantId,
      [TENANTS_CLAIM]: tenants,
      [ALLOW_CLAIM]: allow,
      [APPROVAL_CLAIM]: approval || undefined,
      scope,
      sid: sessionId,
      jti: random(16),
      iat,
      exp,
      [KEY_CLAIM]: keyId,
      cnf: certificateThumbprint && { 'x5t#S256': certificateThumbprint },
    });
    return { access_token: token, token_type: 'Bearer', expires_in: Math.max(0, exp - iat), scope };
  }

  /** Finds the active session of a refresh token that was issued here, replaced or not. */
  async function find(token: string): Promise<RefreshAttempt | undefined> {
    const parsed = parseRefreshToken(token);
    if (parsed === undefined) return undefined;
    const session = await fromStore(store.find(parsed.sessionId, clock.now()));
    if (session === undefined) return undefined;
    const data = decodeSession(session.data);
    if (!wasIssued(parsed, data.tagKey)) return undefined;
    // The list of this process may be half a second old.
    if (await fromStore(store.isRevoked(lineageOf(session.id), clock.now()))) return undefined;
    return { session, data, presented: parsed.hash, principal: principalOf(session, data) };
  }

  /** Replaces the token. Revokes the session if the token was replaced before, because one of its users stole it. */
  async function rotate(
    { session, presented, principal }: RefreshAttempt,
    next: string,
    call: TokenCall,
  ): Promise<void> {
    const now = clock.now();
    const revokedUntil = lastTokenEnd(now);
    const rotation = { id: session.id, expected: presented, next, now, revokedUntil };
    const outcome = await fromStore(store.rotate(rotation));
    if (outcome === 'rotated') return;
    if (outcome === 'reused') {
      revocations.add(session.id, revokedUntil);
      const reason = 'a refresh token was used again: its session is revoked';
      await call.note({ action: 'token.reuse', outcome: 'denied', principal, reason });
    }
    throw badCredential('invalid_grant', 'bearer');
  }

  /** Returns the principal limited to what its API key allows now, or `undefined` if no scope is left. */
  function stillGranted({ principal }: RefreshAttempt): Principal | undefined {
    const granted = allowedNow(principal);
    return granted?.scopes.length === 0 ? undefined : granted;
  }

  const holder = async (token: string) => (await find(token))?.principal;
  return { begin, refresh, end, holder };
}

function principalOf({ id, expiresAt }: TokenSession, { tagKey: _, ...identity }: SessionData): Principal {
  return { method: 'bearer', ...identity, sessionId: id, expiresAt };
}

function random(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}

/** Returns the store's result. A failing store causes 503. */
function fromStore<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw unavailable('The token store is unreachable', cause, 1);
  });
}

const MAX_DEPTH = 4;
const ID_BYTES = 16;

/** Returns a new session id: 128 random bits, after the id of the parent session. So an id contains those of its ancestors. */
export function newSessionId(parent: string | undefined, randomBytes: (size: number) => Uint8Array): string {
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url');
  return parent === undefined ? id : `${parent}.${id}`;
}

export function lineageOf(sessionId: string): string[] {
  const parts = sessionId.split('.');
  return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}

export function isTooDeep(sessionId: string): boolean {
  return lineageOf(sessionId).length >= MAX_DEPTH;
}

const sessionDataSchema = z.object({
  userId: z.string(),
  clientId: z.string().optional(),
  tenantId: z.string().optional(),
  tenants: z.array(z.string()).readonly().optional(),
  scopes: z.array(z.enum(SCOPES)),
  allow: allowSchema.optional(),
  approval: z.boolean().optional(),
  keyId: z.string().optional(),
  certificateThumbprint: z.string().optional(),
  /** MAC key of the session's refresh tokens, base64url. */
  tagKey: z.string(),
});

type SessionData = ReadonlyArrays<z.infer<typeof sessionDataSchema>>;

function encodeSession(data: SessionData): string {
  return JSON.stringify(data);
}

export function decodeSession(json: string): SessionData {
  try {
    return sessionDataSchema.parse(JSON.parse(json));
  } catch {
    // No cause, because it would quote the record.
    throw new Error('the record of a session cannot be read');
  }
}

const SECRET_BYTES = 32;
const TAG_BYTES = 16;
/** `rdcp_rt_<session>.<secret>.<tag>`. Secret scanners find leaked tokens by the prefix. */
const FORM = /^rdcp_rt_([A-Za-z0-9_.-]{1,255})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{22})$/;

/** A refresh token is 256 random bits and a MAC, which tells a replaced token (its reuse means theft) from a made-up one without storing it. */
export function newRefreshToken(sessionId: string, tagKey: string, randomBytes: (size: number) => Uint8Array) {
  const secret = Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
  const token = `rdcp_rt_${sessionId}.${secret}.${tagOf(secret, tagKey)}`;
  return { token, hash: hashOf(token) };
}

export function parseRefreshToken(text: string) {
  const [, sessionId, secret, tag] = FORM.exec(text) ?? [];
  if (sessionId === undefined || secret === undefined || tag === undefined) return undefined;
  return { sessionId, hash: hashOf(text), secret, tag };
}

/** Whether a token was ever issued for the session with this key. */
export function wasIssued({ secret, tag }: { readonly secret: string; readonly tag: string }, tagKey: string): boolean {
  return timingSafeEqual(Buffer.from(tag), Buffer.from(tagOf(secret, tagKey)));
}

function tagOf(secret: string, tagKey: string): string {
  const mac = createHmac('sha256', Buffer.from(tagKey, 'base64url')).update(secret).digest();
  return mac.subarray(0, TAG_BYTES).toString('base64url');
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
