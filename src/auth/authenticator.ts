import type { AuthMethod } from '../protocol/constants.ts';
import type { Principal } from './principal.ts';

/** What of a request may hold a credential. */
export interface CredentialRequest {
  /** Every value of every header, by lower-case name (`IncomingMessage.headersDistinct`). */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

/** From a request to who is asking. */
export interface Authenticator {
  /** The credential kinds that are configured, for the well-known document. */
  readonly methods: readonly Exclude<AuthMethod, 'hybrid'>[];
  /**
   * The principal of the request's credential, or `undefined` when it carries none.
   * @throws {RdcpError} `RDCP_AUTH_FAILED` with `method` and `details.reason` for a credential that is wrong, expired
   * or does not agree with `X-RDCP-Auth-Method`; `RDCP_MALFORMED_REQUEST` for a credential sent twice, or two
   * credentials that are not a hybrid pair
   */
  authenticate(request: CredentialRequest): Promise<Principal | undefined>;
  /** Ends file watching and the like. */
  close(): void;
}
