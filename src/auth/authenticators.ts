import { RdcpError } from '../errors.ts';
import { type AuthMethod, HEADERS, REQUEST_HEADERS } from '../protocol/constants.ts';
import type { Authenticator, CredentialRequest, Sender } from './authenticator.ts';
import { asHybrid, assertBinding, hybrid } from './hybrid.ts';
import type { CertificateVerifier, VerifiedCertificate } from './mtls.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

/** One kind of credential: from the text that a request carried to who that is. */
export interface CredentialVerifier {
  /**
   * @param connection tells that a later request came over the same one
   * @param sender limits what is asked of others about the credential
   * @throws {RdcpError} `RDCP_AUTH_FAILED` when the credential does not authenticate
   */
  verify(credential: string, connection?: object, sender?: Sender): Principal | Promise<Principal>;
  close?(): void;
}

/** The kinds that are configured. */
export interface CredentialVerifiers {
  readonly apiKey?: CredentialVerifier | undefined;
  readonly bearer?: CredentialVerifier | undefined;
  /** Client certificates as credentials. Without it one only guards its connection, and tokens that are bound to it. */
  readonly certificate?: CertificateVerifier | undefined;
  /** Level enterprise: nobody gets in without a valid certificate. @default false */
  readonly certificateRequired?: boolean;
  /** The application's own authenticator, asked before any other. */
  readonly application?: ((request: CredentialRequest) => Promise<Principal | undefined>) | undefined;
}

/** A credential as a request carries it, not yet verified. */
type Credential = { readonly method: 'api-key' | 'bearer'; readonly value: string };

/** RFC 9110, section 11.4: the scheme's name is case-insensitive. RFC 6750 allows one token after it. */
const BEARER = /^bearer(?: +(.*))?$/is;

/**
 * Authenticates by the credential that a request carries: it decides the method, and a method that the request names
 * beside it must agree. A kind that is not configured refuses every credential.
 */
export function createAuthenticator(verifiers: CredentialVerifiers): Authenticator {
  const { apiKey, bearer, certificate: certificates, certificateRequired = false, application } = verifiers;

  const certificateOf = ({ clientCertificate }: CredentialRequest): VerifiedCertificate | undefined =>
    clientCertificate === undefined ? undefined : certificates?.verify(clientCertificate);

  const byKey = (
    key: string,
    { message }: CredentialRequest,
    certificate: VerifiedCertificate | undefined,
    claimed: string | undefined,
  ) => {
    // The certificate of somebody we know is a credential, and makes no pair with a key.
    if (certificate?.identity !== undefined) throw twoCredentials();
    assertAgrees(claimed, 'api-key');
    if (certificateRequired) throw refusal('api-key', 'invalid_certificate');
    if (apiKey === undefined) throw refusal('api-key');
    return apiKey.verify(key, message?.socket);
  };

  const byToken = async (token: string, request: CredentialRequest, claimed: string | undefined) => {
    const certificate = certificateOf(request);
    if (certificate === undefined) {
      assertAgrees(claimed, 'bearer');
      if (certificateRequired) throw refusal('bearer', 'invalid_certificate');
      if (bearer === undefined) throw refusal('bearer');
      const principal = await bearer.verify(token, request.message?.socket, request.sender);
      assertBinding(principal, request.clientCertificate);
      return principal;
    }
    // A client does not always know of the certificate that its connection has, and names the half that it knows.
    assertAgrees(claimed, 'hybrid', 'bearer');
    return asHybrid(async () => {
      if (bearer === undefined) throw refusal('hybrid');
      const principal = await bearer.verify(token, request.message?.socket, request.sender);
      assertBinding(principal, request.clientCertificate);
      return hybrid(principal, certificate.identity);
    });
  };

  const byCertificate = (certificate: VerifiedCertificate | undefined, claimed: string | undefined) => {
    if (certificate?.identity !== undefined) {
      assertAgrees(claimed, 'mtls');
      return certificate.identity;
    }
    // The certificate is valid, and of nobody: alone it authenticates no one.
    if (certificate !== undefined && claimed === 'mtls') throw refusal('mtls');
    return undefined;
  };

  const byApplication = async (request: CredentialRequest, claimed: string | undefined) => {
    const principal = await application?.(request);
    if (principal === undefined) return undefined;
    const { method } = principal;
    assertAgrees(claimed, method);
    const shown = certificateOf(request) !== undefined || request.clientCertificate?.authorized === true;
    const certified = method === 'mtls' || method === 'hybrid';
    if ((certified && !shown) || (certificateRequired && !certified)) throw refusal(method, 'invalid_certificate');
    return principal;
  };

  return {
    methods: [
      ...(apiKey === undefined || certificateRequired ? [] : ['api-key' as const]),
      ...(bearer === undefined && application === undefined ? [] : ['bearer' as const]),
      ...(certificates === undefined ? [] : ['mtls' as const]),
    ],
    authenticate: async (request) => {
      const claimed = single(request, REQUEST_HEADERS.authMethod, HEADERS.authMethod);
      const credential = findCredential(request);
      const own = application === undefined ? undefined : await byApplication(request, claimed);
      if (own !== undefined) return own;
      if (credential?.method === 'bearer') return byToken(credential.value, request, claimed);
      const certificate = certificateOf(request);
      if (credential?.method === 'api-key') return byKey(credential.value, request, certificate, claimed);
      return byCertificate(certificate, claimed);
    },
    close: () => {
      apiKey?.close?.();
      bearer?.close?.();
    },
  };
}

function assertAgrees(claimed: string | undefined, method: AuthMethod, alternative: AuthMethod = method): void {
  if (claimed !== undefined && claimed !== method && claimed !== alternative) throw refusal(method, 'method_mismatch');
}

/**
 * Looks at every place that may carry a credential. An `Authorization` of another scheme is none of ours: a proxy in
 * front may use it for itself.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for a credential sent twice, or two that are not a hybrid pair
 */
function findCredential(request: CredentialRequest): Credential | undefined {
  const key = single(request, REQUEST_HEADERS.apiKey, HEADERS.apiKey);
  const authorization = single(request, 'authorization', 'Authorization');
  const bearer = authorization === undefined ? null : BEARER.exec(authorization);
  if (key !== undefined && bearer !== null) throw twoCredentials();
  if (key !== undefined) return { method: 'api-key', value: key };
  return bearer === null ? undefined : { method: 'bearer', value: bearer[1] ?? '' };
}

function twoCredentials(): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', 'The request carries two credentials');
}

function single(request: CredentialRequest, name: string, label: string): string | undefined {
  const values = request.headers[name];
  if (values !== undefined && values.length > 1) {
    throw new RdcpError('RDCP_MALFORMED_REQUEST', `${label} was sent more than once`, { details: { field: label } });
  }
  return values?.[0];
}
