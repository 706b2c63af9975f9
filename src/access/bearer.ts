import type { CredentialVerifier } from './authenticators.ts';
import type { JwtVerifier } from './jwt.ts';
import { refusal } from './refusal.ts';

/** Verifiers of bearer tokens. At least one is configured. */
export interface BearerVerifiers {
  /** Verifies JWTs of known issuers, including this server. */
  readonly jwt?: JwtVerifier | undefined;
  /** Introspects all other tokens. */
  readonly opaque?: CredentialVerifier | undefined;
}

/** Prefix of our API keys and refresh tokens, which are not bearer tokens. */
const OWN_SECRET_PREFIX = 'rdcp_';

/** Verifies bearer tokens. JWTs of known issuers and our own secrets are never sent to an introspection endpoint. */
export function createBearerVerifier({ jwt, opaque }: BearerVerifiers): CredentialVerifier {
  return {
    verify: async (token, sender) => {
      if (jwt !== undefined && (opaque === undefined || jwt.isFromKnownIssuer(token))) return jwt.verify(token);
      if (opaque === undefined || token.startsWith(OWN_SECRET_PREFIX)) throw refusal('bearer');
      return opaque.verify(token, sender);
    },
  };
}
