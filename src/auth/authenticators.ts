import { RdcpError } from '../errors.ts';
import { HEADERS } from '../protocol/constants.ts';
import type { Authenticator, CredentialRequest } from './authenticator.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

/** One kind of credential: from the text that a request carried to who that is. */
export interface CredentialVerifier {
  /** @throws {RdcpError} `RDCP_AUTH_FAILED` when the credential does not authenticate */
  verify(credential: string): Principal | Promise<Principal>;
  close?(): void;
}

/** The kinds that are configured. */
export interface CredentialVerifiers {
  readonly apiKey?: CredentialVerifier;
  readonly bearer?: CredentialVerifier;
}

/** A credential as a request carries it, not yet verified. */
type Credential = { readonly method: 'api-key' | 'bearer'; readonly value: string };

const API_KEY = HEADERS.apiKey.toLowerCase();
const AUTH_METHOD = HEADERS.authMethod.toLowerCase();
/** RFC 9110, section 11.4: the scheme's name is case-insensitive. RFC 6750 allows one token after it. */
const BEARER = /^bearer(?: +(.*))?$/is;

/**
 * Authenticates by the credential that a request carries: it decides the method, and a method that the request names
 * beside it must agree. A kind that is not configured refuses every credential.
 */
export function createAuthenticator({ apiKey, bearer }: CredentialVerifiers): Authenticator {
  const verifiers = { 'api-key': apiKey, bearer };
  return {
    methods: [
      ...(apiKey === undefined ? [] : ['api-key' as const]),
      ...(bearer === undefined ? [] : ['bearer' as const]),
    ],
    authenticate: async (request) => {
      const claimed = single(request, AUTH_METHOD, HEADERS.authMethod);
      const credential = findCredential(request);
      if (credential === undefined) return undefined;
      if (claimed !== undefined && claimed !== credential.method) throw refusal(credential.method, 'method_mismatch');
      const verifier = verifiers[credential.method];
      if (verifier === undefined) throw refusal(credential.method);
      return verifier.verify(credential.value);
    },
    close: () => {
      apiKey?.close?.();
      bearer?.close?.();
    },
  };
}

/**
 * Looks at every place that may carry a credential. An `Authorization` of another scheme is none of ours: a proxy in
 * front may use it for itself.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for a credential sent twice, or two that are not a hybrid pair
 */
function findCredential(request: CredentialRequest): Credential | undefined {
  const key = single(request, API_KEY, HEADERS.apiKey);
  const authorization = single(request, 'authorization', 'Authorization');
  const bearer = authorization === undefined ? null : BEARER.exec(authorization);
  if (key !== undefined && bearer !== null) {
    throw new RdcpError('RDCP_MALFORMED_REQUEST', 'The request carries two credentials');
  }
  if (key !== undefined) return { method: 'api-key', value: key };
  return bearer === null ? undefined : { method: 'bearer', value: bearer[1] ?? '' };
}

function single(request: CredentialRequest, name: string, label: string): string | undefined {
  const values = request.headers[name];
  if (values !== undefined && values.length > 1) {
    throw new RdcpError('RDCP_MALFORMED_REQUEST', `${label} was sent more than once`, { details: { field: label } });
  }
  return values?.[0];
}
