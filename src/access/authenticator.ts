import { hash, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type AuthMethod, HEADERS, REQUEST_HEADERS } from '../wire/constants.ts';
import { isRdcpError } from '../wire/errors.ts';
import { REFUSALS } from '../wire/refusals.ts';
import type { JwtVerifier } from './jwt.ts';
import type { CertificateVerifier, VerifiedCertificate } from './mtls.ts';
import { narrowed, type Principal } from './principal.ts';
import { type RefusalReason, refusal } from './refusal.ts';

export interface ClientCertificate {
  readonly certificate: X509Certificate;
  /** Whether TLS verified it: trusted chain, not revoked (`TLSSocket.authorized`). */
  readonly authorized: boolean;
}

export interface Sender {
  readonly address: string;
  /** Whether it has used up its quota of requests without a valid credential. */
  isSpent(): boolean;
}

export interface CredentialRequest {
  /** Every value of every header, by lower-case name (`IncomingMessage.headersDistinct`). */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  /** From the TLS connection, never from a header. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Limits requests to token issuers for this source. @default unlimited */
  readonly sender?: Sender | undefined;
  readonly message?: IncomingMessage | undefined;
}

export interface Authenticator {
  /** The configured kinds of credentials, for the well-known document. */
  readonly methods: readonly Exclude<AuthMethod, 'hybrid'>[];
  /**
   * Returns the principal of the request's credential, or `undefined` without a credential.
   * @throws {RdcpError} `RDCP_AUTH_FAILED` with `method` and `details.reason` for a credential that is wrong, expired,
   * insufficient at the security level, or not of the kind in `X-RDCP-Auth-Method`; `RDCP_MALFORMED_REQUEST` for a duplicate
   * credential, or two credentials that are not a hybrid pair; `RDCP_UNAVAILABLE` while a token issuer or the application
   * does not respond
   */
  authenticate(request: CredentialRequest): Promise<Principal | undefined>;
  /**
   * What a principal may do now, without its credential: an API key by its record, a token of this server by its session and its
   * key. Other credentials cannot be looked at again, and keep what they had.
   * @returns `undefined` if it was revoked, or its key has ended
   * @throws {RdcpError} `RDCP_UNAVAILABLE` while revocations cannot be read
   */
  current(principal: Principal): Promise<Principal | undefined>;
}

export interface CredentialVerifier {
  /** @throws {RdcpError} `RDCP_AUTH_FAILED` if the credential is not valid */
  verify(credential: string, sender?: Sender): Principal | Promise<Principal>;
}

interface CredentialVerifiers {
  readonly apiKey?: CredentialVerifier | undefined;
  readonly bearer?: CredentialVerifier | undefined;
  /** Client certificates as credentials. Without it, certificates only protect connections and bound tokens. */
  readonly certificate?: CertificateVerifier | undefined;
  /** Whether every request needs a valid certificate (level enterprise). @default false */
  readonly certificateRequired?: boolean;
  /** @default what the principal could do before */
  readonly current?: Authenticator['current'];
  readonly application?: ((request: CredentialRequest) => Promise<Principal | undefined>) | undefined;
}

type Credential = { readonly method: 'api-key' | 'bearer'; readonly value: string };

/** The scheme is case-insensitive (RFC 9110, section 11.4), followed by one token (RFC 6750). */
const BEARER = /^bearer(?: +(.*))?$/is;

/** The credential decides the method, which a method header must match. Kinds that are not configured are refused. */
export function createAuthenticator(verifiers: CredentialVerifiers): Authenticator {
  const { apiKey, bearer, certificate: certificates, certificateRequired = false, application, current } = verifiers;

  const certificateOf = ({ clientCertificate }: CredentialRequest): VerifiedCertificate | undefined =>
    clientCertificate === undefined ? undefined : certificates?.verify(clientCertificate);

  const byKey = (key: string, certificate: VerifiedCertificate | undefined, claimed: string | undefined) => {
    // A certificate of a configured identity is a credential itself. It cannot be combined with a key.
    if (certificate?.identity !== undefined) throw REFUSALS.twoCredentials();
    assertMethodMatches(claimed, 'api-key');
    if (certificateRequired) throw refusal('api-key', 'invalid_certificate');
    if (apiKey === undefined) throw refusal('api-key');
    return apiKey.verify(key);
  };

  const byToken = async (token: string, request: CredentialRequest, claimed: string | undefined) => {
    const certificate = certificateOf(request);
    // A client may not know about its connection's certificate, and then names only `bearer`.
    assertMethodMatches(claimed, certificate === undefined ? 'bearer' : 'hybrid', 'bearer');
    if (certificate === undefined && certificateRequired) throw refusal('bearer', 'invalid_certificate');
    try {
      if (bearer === undefined) throw refusal('bearer');
      const principal = await bearer.verify(token, request.sender);
      assertBinding(principal, request.clientCertificate);
      return certificate === undefined ? principal : combine(principal, certificate.identity);
    } catch (error) {
      throw certificate === undefined ? error : asHybrid(error);
    }
  };

  const byCertificate = (certificate: VerifiedCertificate | undefined, claimed: string | undefined) => {
    if (certificate?.identity !== undefined) {
      assertMethodMatches(claimed, 'mtls');
      return certificate.identity;
    }
    // A valid certificate without a configured identity does not authenticate.
    if (certificate !== undefined && claimed === 'mtls') throw refusal('mtls');
    return undefined;
  };

  const byApplication = async (request: CredentialRequest, claimed: string | undefined) => {
    const principal = await application?.(request);
    if (principal === undefined) return undefined;
    const { method } = principal;
    assertMethodMatches(claimed, method);
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
      if (credential?.method === 'api-key') return byKey(credential.value, certificate, claimed);
      return byCertificate(certificate, claimed);
    },
    current: current ?? (async (principal) => principal),
  };
}

function assertMethodMatches(claimed: string | undefined, method: AuthMethod, alternative: AuthMethod = method): void {
  if (claimed !== undefined && claimed !== method && claimed !== alternative) throw refusal(method, 'method_mismatch');
}

/** Other `Authorization` schemes may be a proxy's. @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for two that are no hybrid pair */
function findCredential(request: CredentialRequest): Credential | undefined {
  const key = single(request, REQUEST_HEADERS.apiKey, HEADERS.apiKey);
  const authorization = single(request, 'authorization', 'Authorization');
  const bearer = authorization === undefined ? null : BEARER.exec(authorization);
  if (key !== undefined && bearer !== null) throw REFUSALS.twoCredentials();
  if (key !== undefined) return { method: 'api-key', value: key };
  return bearer === null ? undefined : { method: 'bearer', value: bearer[1] ?? '' };
}

function single(request: CredentialRequest, name: string, label: string): string | undefined {
  const values = request.headers[name];
  if (values !== undefined && values.length > 1) {
    throw REFUSALS.malformed(label, 'was sent more than once');
  }
  return values?.[0];
}

/** Prefix of our API keys and refresh tokens, which are not bearer tokens. */
const OWN_SECRET_PREFIX = 'rdcp_';

/** Verifies bearer tokens. JWTs of known issuers and our own secrets are never sent to an introspection endpoint. */
export function createBearerVerifier({
  jwt,
  opaque,
}: {
  readonly jwt?: JwtVerifier | undefined;
  readonly opaque?: CredentialVerifier | undefined;
}): CredentialVerifier {
  return {
    verify: async (token, sender) => {
      if (jwt !== undefined && (opaque === undefined || jwt.isFromKnownIssuer(token))) return jwt.verify(token);
      if (opaque === undefined || token.startsWith(OWN_SECRET_PREFIX)) throw refusal('bearer');
      return opaque.verify(token, sender);
    },
  };
}

/** User and tenant of the token; scopes, limits and expiry of both. @throws {RdcpError} `RDCP_AUTH_FAILED` if that is nothing */
export function combine(token: Principal, identity: Principal | undefined): Principal {
  const pair = identity === undefined ? token : narrowed(token, identity);
  if (pair === undefined) throw refusal('hybrid');
  return { ...pair, method: 'hybrid' };
}

/** Refuses a token bound to another certificate (RFC 8705, section 3) as a wrong one: a thief must not learn that it is valid. */
export function assertBinding(token: Principal, presented: ClientCertificate | undefined): void {
  const { certificateThumbprint: bound } = token;
  if (bound === undefined) return;
  if (thumbprintOf(presented) !== bound) throw refusal('bearer');
}

/** Returns the base64url SHA-256 of a certificate that TLS verified (RFC 8705, section 3.1). */
export function thumbprintOf(presented: ClientCertificate | undefined): string | undefined {
  return presented?.authorized === true ? hash('sha256', presented.certificate.raw, 'base64url') : undefined;
}

/** Returns a refusal of either credential with the method `hybrid`, and any other error unchanged. */
function asHybrid(error: unknown): unknown {
  if (!isRdcpError(error) || error.code !== 'RDCP_AUTH_FAILED') return error;
  return refusal('hybrid', error.details?.reason as RefusalReason, error);
}
