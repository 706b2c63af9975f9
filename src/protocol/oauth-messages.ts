import type { Allow } from './allow.ts';
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

/** Response of the introspection endpoint (RFC 7662, section 2.2). Inactive tokens have no further fields. */
export type IntrospectionResponse = { readonly active: false } | ActiveToken;

/** A token that is accepted (RFC 7662, section 2.2). */
export interface ActiveToken {
  /** True for a token that is accepted. */
  readonly active: true;
  /** `N_A` for a refresh token, which resource servers must not accept (RFC 8693, section 2.2.1). */
  readonly token_type: 'Bearer' | 'N_A';
  /** Its purpose: requests, or getting a new access token. */
  readonly token_use: 'access_token' | 'refresh_token';
  /** Separated by single spaces. */
  readonly scope: string;
  /** Client that it was issued to. */
  readonly client_id?: string;
  /** User that it stands for. */
  readonly sub: string;
  /** Its issuer. */
  readonly iss: string;
  /** Servers that it is for. */
  readonly aud: string | readonly string[];
  /** Seconds since the epoch. */
  readonly exp: number;
  /** Seconds since the epoch. */
  readonly iat?: number;
  /** The token's own id. */
  readonly jti?: string;
  /** The session that the token belongs to. */
  readonly sid: string;
  /** Tenant that it is bound to, if any. */
  readonly tenant_id?: string;
  /** Tenants that it may name, as ids and prefixes with `*`, if it is limited to some. */
  readonly otelrdcp_tenants?: readonly string[];
  /** What it may do with which categories, if it is limited to some. */
  readonly otelrdcp_allow?: Allow;
  /** Present if a change beyond `otelrdcp_allow` waits for an approval. */
  readonly otelrdcp_approval?: true;
  /** Thumbprint of the certificate that the token is bound to (RFC 8705, section 3.2). */
  readonly cnf?: {
    /** SHA-256 of the certificate, base64url. */
    readonly 'x5t#S256': string;
  };
}

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
  /** URL that says what a token is worth (RFC 7662). */
  readonly introspection_endpoint: string;
  /** How a client authenticates there. */
  readonly introspection_endpoint_auth_methods_supported: readonly string[];
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
