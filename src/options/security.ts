import type { IncomingMessage } from 'node:http';
import type { Allow } from '../wire/allow.ts';
import type { Scope, SecurityLevel } from '../wire/constants.ts';
import type { ValidationResult } from '../wire/validation-result.ts';

/** Credentials that the endpoint accepts. Without any, it serves loopback alone, with a development key in `.rdcp/dev-key`. */
export interface SecurityOptions {
  /**
   * Security level that the well-known document declares: `basic`, `standard` (needs bearer tokens or `authenticate`) or
   * `enterprise` (needs `server.tls.clientCaFile`).
   * @default 'basic'
   */
  readonly level?: SecurityLevel | undefined;
  /** API keys: a file of them, or their records. @default none */
  readonly apiKeys?: ApiKeysFile | readonly ApiKeyRecord[] | undefined;
  /** Issuers whose JSON Web Tokens are accepted as bearer tokens. @default none */
  readonly jwt?: JwtIssuerOptions | readonly JwtIssuerOptions[] | undefined;
  /** Server to ask about other bearer tokens (RFC 7662). @default none: such tokens are refused */
  readonly introspection?: IntrospectionOptions | undefined;
  /** Identities of client certificates; needs `server.tls.clientCaFile`. @default none */
  readonly mtls?: MtlsOptions | undefined;
  /** Tokens that this server issues in exchange for API keys and other tokens; needs a store that keeps records. @default none */
  readonly tokens?: TokenOptions | undefined;
  /** Tickets of other services that are accepted: the work that carries one has its categories on. @default none */
  readonly tickets?: TicketOptions | undefined;
  /**
   * Your own authenticator, asked before any other. It returns a validation result, or nothing for a request without its kind of
   * credential. When it throws, the answer is 503.
   * @default none
   */
  readonly authenticate?: Authenticate | undefined;
}

/** An authenticator of your own: from a request to a validation result. */
export type Authenticate = (
  request: IncomingMessage,
) => ValidationResult | null | undefined | Promise<ValidationResult | null | undefined>;

/** API keys in a file. */
export interface ApiKeysFile {
  /** JSON file of `rdcp keys create`. A change is in force within a second; while it cannot be read, the keys before stay valid. */
  readonly file: string;
}

/** What a credential may do beside its scopes. */
export interface CredentialLimits {
  /** What it may do with which categories, within its scopes. @default all that its scopes allow */
  readonly allow?: Allow | undefined;
  /** Whether a change beyond `allow` waits 10 minutes for another identity with `admin`, instead of a refusal. @default false */
  readonly approval?: boolean | undefined;
}

/** An identity and its rights. */
export interface CredentialIdentity extends CredentialLimits {
  /** Tenant that it belongs to: it reads and switches that tenant alone. @default none */
  readonly tenantId?: string | undefined;
  /**
   * Tenants that it may name in `X-RDCP-Tenant-ID` without the scope `admin`, and nothing else: ids, prefixes such as `b*`, or `*`. Not
   * together with `tenantId`.
   * @default none
   */
  readonly tenants?: readonly string[] | undefined;
  /** At least one of `discovery`, `status`, `control`, `tail`, `alerts` and `admin`. */
  readonly scopes: readonly Scope[];
}

/** An API key as it is kept: its hash, never the key. Records of a keys file have the same form. */
export interface ApiKeyRecord extends CredentialIdentity {
  /** Name of the key in `rdcp keys list`, `rdcp keys revoke` and the audit trail. */
  readonly id: string;
  /** `sha256:` and the SHA-256 of the key, 64 lower-case hex digits. */
  readonly hash: string;
  /** Client that uses the key, for the audit trail. */
  readonly clientId: string;
  /** User that the key stands for, for the audit trail. @default the clientId */
  readonly userId?: string | undefined;
  /** UTC time before which the key is refused, such as `2026-01-31T00:00:00.000Z`. @default none */
  readonly notBefore?: string | undefined;
  /** UTC time from which on the key is refused. @default none: the key does not expire */
  readonly expiresAt?: string | undefined;
}

/** Which claims of a token, or fields of an answer about it, say what it may do, and the most that any may do. */
export interface CredentialClaims extends CredentialLimits {
  /** Claim that holds the scopes. @default 'scope', or 'scopes' where it is missing */
  readonly scopeClaim?: string | undefined;
  /** Claim that holds the tenant's id. @default 'tenant_id' */
  readonly tenantClaim?: string | undefined;
  /** Claim that holds the tenants which a token without a tenant may name, as `tenants` of a key. @default 'otelrdcp_tenants' */
  readonly tenantsClaim?: string | undefined;
  /**
   * Claim that holds what a token may do, as `allow` of a key; another form makes the token invalid. `otelrdcp_approval: true` beside it
   * is as `approval` of a key.
   * @default 'otelrdcp_allow'
   */
  readonly allowClaim?: string | undefined;
}

/** An issuer of JSON Web Tokens, with exactly one of `secret`, `publicKey` and `jwksUri`. */
export interface JwtIssuerOptions extends CredentialClaims {
  /** Value of the `iss` claim, compared character by character. */
  readonly issuer: string;
  /** Accepted audiences: the `aud` claim must hold one of them. */
  readonly audience: string | readonly string[];
  /** Accepted signature algorithms. `HS256` goes with `secret`, the others with `publicKey` or `jwksUri`. */
  readonly algorithms: readonly ('HS256' | 'RS256' | 'PS256' | 'ES256' | 'EdDSA')[];
  /** Shared secret for `HS256`, at least 32 bytes. @default none */
  readonly secret?: string | undefined;
  /** Public key or certificate in PEM form. RSA keys need at least 2048 bits. @default none */
  readonly publicKey?: string | undefined;
  /** Address of the issuer's key set (RFC 7517): an https URL, or http on loopback. @default none */
  readonly jwksUri?: string | undefined;
}

/** An introspection endpoint (RFC 7662) and how to ask it. */
export interface IntrospectionOptions extends CredentialClaims {
  /** Address of the endpoint: an https URL, or http on loopback. */
  readonly endpoint: string;
  /** This server's client id at the endpoint. */
  readonly clientId: string;
  /** This server's client secret, sent by HTTP Basic. @default none: the client id alone is sent */
  readonly clientSecret?: string | undefined;
  /** Issuer that an answer must name in `iss`. @default not checked */
  readonly issuer?: string | undefined;
  /** Accepted audiences: `aud` of an answer must hold one of them. @default not checked */
  readonly audience?: string | readonly string[] | undefined;
}

/** Identities of client certificates. */
export interface MtlsOptions {
  /** Identities of client certificates. Without one, a certificate counts only together with a bearer token. */
  readonly identities: readonly CertificateIdentity[];
}

/** The identity of a client certificate, found by exactly one of `fingerprint256`, `san` and `subject`. */
export interface CertificateIdentity extends CredentialIdentity {
  /** SHA-256 of the certificate: 64 hex digits, with or without colons. @default none */
  readonly fingerprint256?: string | undefined;
  /** One of its alternative names: `DNS:ops.example`, `URI:spiffe://example/ops`, `email:…`, `IP:…`, or without type. @default none */
  readonly san?: string | undefined;
  /** Its whole subject, such as `CN=ops,O=Example` (RFC 4514). @default none */
  readonly subject?: string | undefined;
  /** User that the certificate stands for, for the audit trail. */
  readonly userId: string;
  /** Client that uses the certificate, for the audit trail. @default the userId */
  readonly clientId?: string | undefined;
}

/** Tokens that this server issues, signed with exactly one of `signingKeyFile` and `secret`. */
export interface TokenOptions {
  /** Value of the `iss` claim. For OAuth discovery, the address that clients reach the server by: `https://host:9465`. */
  readonly issuer: string;
  /** Value of the `aud` claim. */
  readonly audience: string | readonly string[];
  /**
   * File of private keys (RSA, P-256 or Ed25519; PEM or a JWK Set), read again when it changes. The first one signs, tokens of the
   * others are accepted.
   * @default none
   */
  readonly signingKeyFile?: string | undefined;
  /** Shared secret for HS256, at least 32 bytes. @default none */
  readonly secret?: string | undefined;
  /** Life of an access token in seconds, at most 86400 (a day). @default 900 */
  readonly accessTokenSeconds?: number | undefined;
  /** Life of a session in seconds, refreshed or not; at most 31622400 (366 days). @default 28800 */
  readonly refreshTokenSeconds?: number | undefined;
}

/** Tickets of other services that are accepted. */
export interface TicketOptions {
  /** Issuers whose signed tickets are accepted. */
  readonly issuers: readonly TicketIssuerOptions[];
  /** Categories that tickets may switch on here: names, and patterns such as `SQL_*`. Others are ignored. @default all */
  readonly categories?: readonly string[] | undefined;
  /** Longest life of a ticket, at most `1h`. One that lasts longer is refused. @default '1h' */
  readonly maxDuration?: number | string | undefined;
  /** Whether a valid ticket in baggage makes the trace sampled. Needs the SDK that `register` starts. @default false */
  readonly sampleTraces?: boolean | undefined;
}

/** An issuer of signed tickets, with `publicKey` or `jwksUri`. That of `security.tokens` needs neither. */
export interface TicketIssuerOptions {
  /** Value of the `iss` claim: `security.tokens.issuer` of the service that makes the tickets. */
  readonly issuer: string;
  /** Accepted audiences: the `aud` claim must hold one of them. @default not checked */
  readonly audience?: string | readonly string[] | undefined;
  /** Public key or certificate in PEM form. RSA keys need at least 2048 bits. @default none */
  readonly publicKey?: string | undefined;
  /**
   * Address of the issuer's key set, such as `https://host:9465/rdcp/v1/jwks`: an https URL, or http on loopback. Fetched at the start
   * and every 10 minutes.
   * @default none
   */
  readonly jwksUri?: string | undefined;
}
