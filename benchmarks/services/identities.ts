import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';

export const CATEGORIES = Array.from({ length: 20 }, (_, index) => `CATEGORY_${index}`);

export const API_KEY = 'the-key-of-a-benchmark-that-nobody-else-has';
export const API_KEY_HASH = hashOf(API_KEY);

/** Of somebody with a valid key who does not stop asking. */
export const ATTACKER_KEY = 'the-key-of-somebody-who-asks-far-too-often';
export const ATTACKER_HASH = hashOf(ATTACKER_KEY);

function hashOf(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

export const ISSUER = {
  issuer: 'https://issuer.example',
  audience: 'benchmark',
  algorithms: ['HS256' as const],
  secret: 'the-secret-of-a-benchmark-that-nobody-else-has',
};

/** A token with the scopes of the API key. */
export function token(): Promise<string> {
  return new SignJWT({ scope: 'status control', client_id: 'benchmark' })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
    .setIssuer(ISSUER.issuer)
    .setAudience(ISSUER.audience)
    .setSubject('benchmark')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(ISSUER.secret));
}
