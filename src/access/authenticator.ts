import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AuthMethod } from '../wire/constants.ts';
import type { Principal } from './principal.ts';

export interface ClientCertificate {
  readonly certificate: X509Certificate;
  /** Whether TLS verified it: trusted chain, not revoked (`TLSSocket.authorized`). */
  readonly authorized: boolean;
}

/** The source of a request, for rate limits. */
export interface Sender {
  readonly address: string;
  /** Whether it has used up its quota of requests without a valid credential. */
  isSpent(): boolean;
}

/** The parts of a request that may hold a credential. */
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
