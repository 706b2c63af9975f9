import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject } from '../src/expectation.ts';
import type { ServerRequest } from './handler.ts';

export interface Holder {
  readonly method: string;
  readonly userId: string;
  readonly tenant?: string;
  readonly scopes: readonly string[];
}

const ALL = ['discovery', 'status', 'control', 'admin'];
/** Keys of the reference server. They open nothing else. */
export const KEYS = {
  main: 'rdcp-reference-v1-0a1b2c3d4e5f60718293a4b5c6d7e8f9-main',
  readonly: 'rdcp-reference-v1-0a1b2c3d4e5f60718293a4b5c6d7e8f9-read',
} as const;

const HOLDERS: Readonly<Record<string, Holder>> = {
  [KEYS.main]: { method: 'api-key', userId: 'operator', scopes: ALL },
  [KEYS.readonly]: { method: 'api-key', userId: 'viewer', scopes: ['discovery', 'status'] },
};

const SECRET = 'the secret of the reference server';
const AUDIENCE = 'rdcp-reference';

export interface Claims {
  readonly sub?: string;
  readonly tenant?: string;
  readonly scope?: string;
  readonly aud?: string;
  /** Seconds since the epoch. */
  readonly exp?: number;
}

/** A token as the reference server's issuer makes it (JWT, HS256). */
export function token(claims: Claims = {}): string {
  const full = {
    sub: 'operator',
    scope: ALL.join(' '),
    aud: AUDIENCE,
    exp: Math.floor(Date.now() / 1000) + 600,
    ...claims,
  };
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(full)}`;
  return `${content}.${signature(content).toString('base64url')}`;
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function signature(content: string): Buffer {
  return createHmac('sha256', SECRET).update(content).digest();
}

/** Who asks; a text says why the credential is refused, `undefined` that there is none. */
export function authenticate({ headers }: ServerRequest): Holder | string | undefined {
  const key = headers['x-rdcp-api-key'];
  if (key !== undefined) return HOLDERS[key] ?? 'invalid_key';
  const bearer = headers.authorization;
  if (bearer === undefined) return undefined;
  return verify(bearer.replace(/^Bearer /, ''));
}

function verify(jwt: string): Holder | string {
  const [header, payload, given] = jwt.split('.');
  const expected = signature(`${header}.${payload}`);
  const bytes = Buffer.from(given ?? '', 'base64url');
  if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return 'invalid_key';
  const claims: unknown = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString());
  if (!isObject(claims) || claims.aud !== AUDIENCE) return 'invalid_key';
  if (Number(claims.exp) * 1000 <= Date.now()) return 'token_expired';
  return {
    method: 'bearer',
    userId: String(claims.sub),
    scopes: String(claims.scope).split(' '),
    ...(typeof claims.tenant === 'string' ? { tenant: claims.tenant } : {}),
  };
}
