import { GRANT_TYPES, type TokenService } from '../../auth/tokens/service.ts';
import type { ResolvedConfig } from '../../config.ts';
import { SCOPES, TOKEN_PATHS } from '../../protocol/constants.ts';
import type { AuthorizationServerMetadata } from '../../protocol/oauth-messages.ts';
import type { Handler } from '../steps.ts';

const CLIENT_SECRET = ['client_secret_basic', 'client_secret_post'];

/**
 * `GET /.well-known/oauth-authorization-server`: the server's metadata for OAuth clients (RFC 8414). Addresses derive
 * from the issuer, not from the request, because a client may trust them only when it asked the issuer itself.
 */
export function oauthMetadata(config: ResolvedConfig, tokens: TokenService, address: URL): Handler {
  const base = address.href.replace(/\/$/, '');
  const document: AuthorizationServerMetadata = {
    issuer: tokens.issuer,
    token_endpoint: base + TOKEN_PATHS.token,
    // An exchange or a refresh has its credential in the body; client authentication is optional.
    token_endpoint_auth_methods_supported: [...CLIENT_SECRET, 'none'],
    revocation_endpoint: base + TOKEN_PATHS.revoke,
    revocation_endpoint_auth_methods_supported: [...CLIENT_SECRET, 'none'],
    introspection_endpoint: base + TOKEN_PATHS.introspect,
    introspection_endpoint_auth_methods_supported: CLIENT_SECRET,
    ...(tokens.publishedKeys !== undefined && { jwks_uri: base + TOKEN_PATHS.jwks }),
    grant_types_supported: GRANT_TYPES,
    response_types_supported: [],
    scopes_supported: SCOPES,
    tls_client_certificate_bound_access_tokens: asksForCertificates(config),
  };
  const body = JSON.stringify(document);
  return () => ({ body });
}

function asksForCertificates({ server, security }: ResolvedConfig): boolean {
  return server === false
    ? security.mtls !== undefined || security.level === 'enterprise'
    : server.tls?.clientCaFile !== undefined;
}
