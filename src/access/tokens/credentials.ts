import type { ApiKeyVerifier } from '../api-keys.ts';
import type { ClientCertificate, Sender } from '../authenticator.ts';
import type { CredentialVerifier } from '../authenticators.ts';
import type { CertificateVerifier } from '../mtls.ts';
import type { Principal } from '../principal.ts';
import { clientCredentials, type Parameters } from './parameters.ts';
import { badCredential, badRequest, type OAuthError, withOAuthError } from './refusals.ts';

export interface TokenCredentialsOptions {
  readonly apiKey: ApiKeyVerifier | undefined;
  /** Verifies every accepted bearer token, including our own. */
  readonly bearer: CredentialVerifier;
  readonly certificate: CertificateVerifier | undefined;
  /** Whether issuing needs a valid client certificate (level enterprise). */
  readonly certificateRequired: boolean;
}

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
export const ACCESS_TOKEN_TYPE = `${TOKEN_TYPE}access_token`;
export const ACCESS_TOKEN_TYPES: readonly string[] = [ACCESS_TOKEN_TYPE, `${TOKEN_TYPE}jwt`];
/** Type of an API key as `subject_token`. The access token type is accepted for it too. */
const API_KEY_TYPE = 'urn:rdcp:token-type:api-key';

/** Verifies the credentials of a token request. */
export function createTokenCredentials({ apiKey, bearer, certificate, certificateRequired }: TokenCredentialsOptions) {
  return {
    /** @throws {RdcpError} `invalid_client` if a required certificate is missing, or the certificate is invalid */
    assertCertificate(presented: ClientCertificate | undefined): void {
      if (presented === undefined && certificateRequired) throw badCredential('invalid_client', 'mtls');
      try {
        if (presented !== undefined) certificate?.verify(presented);
      } catch (error) {
        throw withOAuthError(error, 'invalid_client');
      }
    },

    /** Returns the authenticated client, if any. Its secret is an API key. */
    async client(parameters: Parameters, authorization: string | undefined): Promise<Principal | undefined> {
      const presented = clientCredentials(parameters, authorization);
      if (presented === undefined) return undefined;
      const principal = await verified(apiKey, presented.secret, 'invalid_client', 'api-key');
      if (principal.clientId !== presented.id) throw badCredential('invalid_client', 'api-key');
      return principal;
    },

    /** Returns the subject of a token exchange. */
    async subject(token: string, type: string, sender: Sender | undefined): Promise<Principal> {
      if (!ACCESS_TOKEN_TYPES.includes(type) && type !== API_KEY_TYPE) {
        throw badRequest(
          'invalid_request',
          `subject_token_type must be ${ACCESS_TOKEN_TYPES.join(', ')} or ${API_KEY_TYPE}`,
        );
      }
      // An operator's own key has no prefix, so it is looked up.
      const isKey = type === API_KEY_TYPE || token.startsWith('rdcp_') || apiKey?.knows(token) === true;
      return isKey
        ? verified(apiKey, token, 'invalid_request', 'api-key')
        : verified(bearer, token, 'invalid_request', 'bearer', sender);
    },
  };
}

async function verified(
  verifier: CredentialVerifier | undefined,
  credential: string,
  code: OAuthError,
  method: 'api-key' | 'bearer',
  sender?: Sender,
): Promise<Principal> {
  if (verifier === undefined) throw badCredential(code, method);
  try {
    return await verifier.verify(credential, sender);
  } catch (error) {
    throw withOAuthError(error, code);
  }
}
