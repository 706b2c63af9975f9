import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AuthMethod } from '../protocol/constants.ts';
import type { Principal } from './principal.ts';

/** What the peer of a TLS connection showed in the handshake. */
export interface ClientCertificate {
  /** The same object for every request of a connection: what is found out about it is remembered by it. */
  readonly certificate: X509Certificate;
  /** Whether TLS found it valid: a chain to a trusted authority, not revoked (`TLSSocket.authorized`). */
  readonly authorized: boolean;
}

/** Where a request comes from, as far as limits go. */
export interface Sender {
  /** What its requests are counted by. */
  readonly address: string;
  /** Whether it has spent its quota of requests without a valid credential. */
  isSpent(): boolean;
}

/** What of a request may hold a credential. */
export interface CredentialRequest {
  /** Every value of every header, by lower-case name (`IncomingMessage.headersDistinct`). */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  /** Of the connection itself. No header ever stands for it. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Limits what is asked of others about its credential. @default not limited by where it comes from */
  readonly sender?: Sender | undefined;
  /** The request as it came, for an application's own authenticator. */
  readonly message?: IncomingMessage | undefined;
}

/** From a request to who is asking. */
export interface Authenticator {
  /** The credential kinds that are configured, for the well-known document. */
  readonly methods: readonly Exclude<AuthMethod, 'hybrid'>[];
  /**
   * The principal of the request's credential, or `undefined` when it carries none.
   * @throws {RdcpError} `RDCP_AUTH_FAILED` with `method` and `details.reason` for a credential that is wrong, expired,
   * not enough at the security level, or does not agree with `X-RDCP-Auth-Method`; `RDCP_MALFORMED_REQUEST` for a
   * credential sent twice, or two credentials that are not a hybrid pair; `RDCP_UNAVAILABLE` while what must be asked
   * about it does not answer
   */
  authenticate(request: CredentialRequest): Promise<Principal | undefined>;
  /** Ends file watching and the like. */
  close(): void;
}
