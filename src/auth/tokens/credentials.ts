import type { ApiKeyVerifier } from '../api-keys.ts';
import type { ClientCertificate, Sender } from '../authenticator.ts';
import type { CredentialVerifier } from '../authenticators.ts';
import type { CertificateVerifier } from '../mtls.ts';
import type { Principal } from '../principal.ts';
import { clientCredentials, type Parameters } from './parameters.ts';
import { badCredential, badRequest, type OAuthError, withOAuthError } from './refusals.ts';

export interface TokenCredentialsOptions {
  readonly apiKey: ApiKeyVerifier | undefined;
  /** Every bearer token that this server accepts, its own among them. */
  readonly bearer: CredentialVerifier;
  readonly certificate: CertificateVerifier | undefined;
  /** Level enterprise: without a valid client certificate there are no tokens. */
  readonly certificateRequired: boolean;
}

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
export const ACCESS_TOKEN_TYPE = `${TOKEN_TYPE}access_token`;
export const ACCESS_TOKEN_TYPES: readonly string[] = [ACCESS_TOKEN_TYPE, `${TOKEN_TYPE}jwt`];
/** An API key as subject of an exchange; the type of an access token is accepted for it too. */
const API_KEY_TYPE = 'urn:rdcp:token-type:api-key';

/** Who the credentials are that a request for tokens carries in its body. */
export function createTokenCredentials({ apiKey, bearer, certificate, certificateRequired }: TokenCredentialsOptions) {
  return {
    /** @throws {RdcpError} `invalid_client` when the level needs a certificate, or there is a bad one */
    assertCertificate(presented: ClientCertificate | undefined): void {
      if (presented === undefined && certificateRequired) throw badCredential('invalid_client', 'mtls');
      try {
        if (presented !== undefined) certificate?.verify(presented);
      } catch (error) {
        throw withOAuthError(error, 'invalid_client');
      }
    },

    /** The client that authenticated itself, if one did: its API key is its secret. */
    async client(parameters: Parameters, authorization: string | undefined): Promise<Principal | undefined> {
      const readings = clientCredentials(parameters, authorization);
      const presented = readings.find(({ secret }) => apiKey?.knows(secret)) ?? readings[0];
      if (presented === undefined) return undefined;
      const principal = await verified(apiKey, presented.secret, 'invalid_client', 'api-key');
      if (principal.clientId !== presented.id) throw badCredential('invalid_client', 'api-key');
      return principal;
    },

    /** Who the subject of a token exchange is. */
    async subject(token: string, type: string, sender: Sender | undefined): Promise<Principal> {
      if (!ACCESS_TOKEN_TYPES.includes(type) && type !== API_KEY_TYPE) {
        throw badRequest(
          'invalid_request',
          `subject_token_type must be ${ACCESS_TOKEN_TYPES.join(', ')} or ${API_KEY_TYPE}`,
        );
      }
      // A key of the operator's own making has no form to tell it by, but is known.
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
    return await verifier.verify(credential, undefined, sender);
  } catch (error) {
    throw withOAuthError(error, code);
  }
}
