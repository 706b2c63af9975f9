import type { TestContext } from 'node:test';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { serve } from '../support/serve.ts';

export const ISSUER = 'https://id.example/';
export const AUDIENCE = 'rdcp';
export const NOW = Date.parse('2026-06-01T12:00:00.000Z');
export const SECRET = 'a shared secret of at least 32 bytes';

/** A clock that only moves when it is told to. */
export function stoppedClock(start = NOW) {
  let wall = start;
  return {
    now: () => wall,
    monotonic: () => wall - NOW,
    advance: (milliseconds: number) => {
      wall += milliseconds;
    },
  };
}

export const seconds = (offset = 0) => Math.floor(NOW / 1000) + offset;

/** The claims of a good access token, with some replaced; `undefined` leaves one out. */
export function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const all = {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: 'ann',
    exp: seconds(300),
    iat: seconds(-10),
    scope: 'status',
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Signs what it is given, sensible or not. */
export function sign(
  key: CryptoKey | Uint8Array,
  header: { alg: string } & Record<string, unknown>,
  payload: Record<string, unknown> = claims(),
): Promise<string> {
  return new SignJWT(payload).setProtectedHeader(header).sign(key);
}

export const secretBytes = (secret = SECRET) => new TextEncoder().encode(secret);

export interface Pair {
  readonly privateKey: CryptoKey;
  readonly pem: string;
  readonly jwk: JWK;
}

export async function makePair(alg: string, kid?: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    privateKey,
    pem: await exportSPKI(publicKey),
    jwk: kid === undefined ? jwk : { ...jwk, kid, alg, use: 'sig' },
  };
}

export interface KeyServer {
  readonly uri: string;
  requests: number;
  /** What the next request is answered. */
  answer: { status: number; body: string | (() => Promise<string>) };
  publish(...keys: JWK[]): void;
}

/** A real HTTP server that publishes keys. */
export async function serveKeys(t: TestContext, ...keys: JWK[]): Promise<KeyServer> {
  const published = (list: JWK[]) => ({ status: 200, body: JSON.stringify({ keys: list }) });
  const { url } = await serve(t, async (_, response) => {
    state.requests += 1;
    const { status, body } = state.answer;
    const text = typeof body === 'string' ? body : await body();
    response.writeHead(status, status === 302 ? { Location: text } : { 'Content-Type': 'application/json' }).end(text);
  });
  const state: KeyServer = {
    uri: `${url}/keys`,
    requests: 0,
    answer: published(keys),
    publish: (...list) => {
      state.answer = published(list);
    },
  };
  return state;
}
