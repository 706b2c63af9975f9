import { randomBytes } from 'node:crypto';
import { decodeJwt, errors, jwtVerify, SignJWT } from 'jose';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

const AUTH = category('AUTH', {
  description: "Checks of the customers' tokens: who was let in, who was not and why; never the token itself",
});

const ISSUER = 'shop';

/** Their numbers. */
export const CUSTOMERS = ['40', '41', '42', '43', '44'] as const;

/** What a customer may owe, in cents. Customer 42 has a low limit, and is only told that the order is not possible. */
export function creditOf(customer: string): number {
  return customer === '42' ? 1000 : 1_000_000;
}

export interface Customers {
  issue(customer: string): Promise<string>;
  /** The customer an `Authorization` header speaks for, or `undefined` when it is missing or worth nothing. */
  identify(authorization: string | undefined): Promise<string | undefined>;
}

/** Signs with a secret of this run: a restart logs everybody out. */
export function createCustomers(): Customers {
  const secret = randomBytes(32);

  return {
    issue: (customer) =>
      new SignJWT()
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer(ISSUER)
        .setSubject(customer)
        .setExpirationTime('12h')
        .sign(secret),

    async identify(authorization) {
      const token = authorization?.replace(/^Bearer /, '');
      if (token === undefined) {
        AUTH.debug('refused', { 'shop.reason': 'no token' });
        return undefined;
      }
      try {
        const { payload } = await jwtVerify(token, secret, {
          algorithms: ['HS256'],
          issuer: ISSUER,
          requiredClaims: ['exp', 'sub'],
        });
        AUTH.debug('accepted', { 'user.id': payload.sub, 'shop.token_expires': payload.exp });
        return payload.sub;
      } catch (error) {
        AUTH.debug('refused', { 'shop.reason': error instanceof errors.JOSEError ? error.code : 'unknown' });
        // A debug point with mistakes, to show what becomes of one. The customer is answered all the same.
        AUTH.debug('claimed to be', () => ({ 'user.id': claimedSubject(token) }));
        return undefined;
      }
    },
  };
}

function claimedSubject(token: string): string | undefined {
  // Made from inside another debug call, so it is lost and counted as lost (rdcp_debug_dropped_total).
  AUTH.debug('decoding', { 'shop.token_length': token.length });
  // Throws for what is not a token: the line of the call comes without attributes, and says why.
  return decodeJwt(token).sub;
}
