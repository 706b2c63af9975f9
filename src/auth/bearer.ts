import type { Sender } from './authenticator.ts';
import type { CredentialVerifier } from './authenticators.ts';
import type { JwtVerifier } from './jwt.ts';
import { refusal } from './refusal.ts';

/** The ways to verify a bearer token; at least one of them is configured. */
export interface BearerVerifiers {
  /** JWTs of known issuers, this server itself among them. */
  readonly jwt?: JwtVerifier | undefined;
  /** All others, by asking their issuer. */
  readonly opaque?: CredentialVerifier | undefined;
}

/** What our own API keys and refresh tokens begin with: whoever sends one as a bearer token has mixed them up. */
const OURS = 'rdcp_';

/**
 * Verifies bearer tokens. A JWT that says it is of a known issuer is verified here and never sent anywhere, be it good or
 * bad, and neither is a secret of ours.
 */
export function createBearerVerifier({ jwt, opaque }: BearerVerifiers): CredentialVerifier {
  const byIssuer = async (token: string, connection: object | undefined, sender: Sender | undefined) => {
    if (jwt !== undefined && (await jwt.claims(token))) return jwt.verify(token, connection);
    if (opaque === undefined || token.startsWith(OURS)) throw refusal('bearer');
    return opaque.verify(token, connection, sender);
  };
  return {
    verify: (token, connection, sender) =>
      jwt !== undefined && opaque === undefined ? jwt.verify(token, connection) : byIssuer(token, connection, sender),
    close: () => {
      jwt?.close?.();
      opaque?.close?.();
    },
  };
}
