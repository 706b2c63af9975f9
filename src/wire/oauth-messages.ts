import type { Scope } from './constants.ts';
import type { RdcpAnswer } from './messages.ts';

// Bodies of the OAuth endpoints.

/** Response of the token endpoint (RFC 6749, section 5.1; RFC 8693, section 2.2.1). */
export interface TokenGrant {
  /** The token, for the header `Authorization`. */
  readonly access_token: string;
  /** How it is sent. */
  readonly token_type: 'Bearer';
  /** Lifetime of the access token, in seconds. */
  readonly expires_in: number;
  /** Separated by single spaces. */
  readonly scope: string;
  /** Present if the session can be refreshed. */
  readonly refresh_token?: string;
  /** In responses to a token exchange. */
  readonly issued_token_type?: string;
}

/** An issued or refreshed token. */
export interface TokenResponse extends RdcpAnswer, TokenGrant {}

/** Authorization server metadata (RFC 8414, section 2). */
export interface AuthorizationServerMetadata {
  /** The `iss` of the tokens. */
  readonly issuer: string;
  /** URL that issues and refreshes tokens. */
  readonly token_endpoint: string;
  /** How a client authenticates there. */
  readonly token_endpoint_auth_methods_supported: readonly string[];
  /** URL that ends a session (RFC 7009). */
  readonly revocation_endpoint: string;
  /** How a client authenticates there. */
  readonly revocation_endpoint_auth_methods_supported: readonly string[];
  /** URL of the public keys that verify tokens. */
  readonly jwks_uri?: string;
  /** Grants that lead to a token. */
  readonly grant_types_supported: readonly string[];
  /** Required by the RFC; empty because there is no authorization endpoint. */
  readonly response_types_supported: readonly string[];
  /** Scopes that a token may have. */
  readonly scopes_supported: readonly Scope[];
  /** RFC 8705: tokens requested with a client certificate are bound to it. */
  readonly tls_client_certificate_bound_access_tokens: boolean;
}

/** Error of an OAuth endpoint (RFC 6749, section 5.2). */
export interface OAuthErrorResponse {
  /** Code of the error, as OAuth defines it. */
  readonly error: string;
  /** The problem, in a sentence. */
  readonly error_description?: string;
}
