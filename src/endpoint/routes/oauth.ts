import type { Principal } from '../../access/principal.ts';
import { GRANT_TYPES } from '../../access/tokens/service.ts';
import { badRequest, type TokenCall, type TokenEvent, withOAuthError } from '../../access/tokens/token-call.ts';
import type { ResolvedConfig } from '../../options/config.ts';
import { SCOPES, TOKEN_PATHS } from '../../wire/constants.ts';
import type { AuthorizationServerMetadata } from '../../wire/oauth-messages.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { count, rateLimit, senderOf, tenancy } from '../middleware/access.ts';
import { formBody } from '../middleware/body.ts';
import type { RouteParts } from '../parts.ts';
import { clientCertificateOf } from '../request.ts';
import { auditDraft, type Context, type Handler, opening, required, type Step } from '../steps.ts';

/**
 * `POST /rdcp/v1/token`: issues a token for a credential (RFC 6749, RFC 8693), with the opening members of RDCP
 * answers.
 */
export function token(parts: RouteParts): Handler | undefined {
  const { tokens, clock } = parts;
  if (tokens === undefined) return undefined;
  const callOf = createTokenCalls(parts);
  return async (ctx) => {
    const grant = await tokens.grant(await callOf(ctx));
    // RFC 6749, section 5.1, for HTTP/1.0 caches.
    return { body: { ...opening(ctx, clock), ...grant }, headers: { Pragma: 'no-cache' } };
  };
}

/**
 * `POST /rdcp/v1/token/revoke`: ends the session of a token (RFC 7009). The answer does not reveal whether there was
 * one.
 */
export function revoke(parts: RouteParts): Handler | undefined {
  const { tokens, clock } = parts;
  if (tokens === undefined) return undefined;
  const callOf = createTokenCalls(parts);
  return async (ctx) => {
    await tokens.revoke(await callOf(ctx));
    return { body: opening(ctx, clock) };
  };
}

/** `GET /rdcp/v1/jwks`: the public keys for verifying tokens of this server (RFC 7517). */
export function jwks({ tokens, clock }: RouteParts): Handler | undefined {
  const publishedKeys = tokens?.publishedKeys;
  return publishedKeys && ((ctx) => ({ body: { ...opening(ctx, clock), keys: publishedKeys() } }));
}

/** An exchange, a refresh or a revocation has its credential in the body; client authentication is optional. */
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'];

/**
 * `GET /.well-known/oauth-authorization-server`: the server's metadata for OAuth clients (RFC 8414). Addresses derive
 * from the issuer, not from the request, because a client may trust them only when it asked the issuer itself.
 */
export function oauthMetadata({ config, tokens }: RouteParts): Handler | undefined {
  if (tokens?.issuerUrl === undefined) return undefined;
  const base = tokens.issuerUrl.href.replace(/\/$/, '');
  const document: AuthorizationServerMetadata = {
    issuer: tokens.issuer,
    token_endpoint: base + TOKEN_PATHS.token,
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint: base + TOKEN_PATHS.revoke,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    ...(tokens.publishedKeys !== undefined && { jwks_uri: base + TOKEN_PATHS.jwks }),
    grant_types_supported: GRANT_TYPES,
    response_types_supported: [],
    scopes_supported: SCOPES,
    tls_client_certificate_bound_access_tokens: asksForCertificates(config),
  };
  return () => ({ body: document });
}

function asksForCertificates({ server, security }: ResolvedConfig): boolean {
  return server === false
    ? security.mtls !== undefined || security.level === 'enterprise'
    : server.tls?.clientCaFile !== undefined;
}

/**
 * Reads the call of a token endpoint, whose credential is in the body. As with a credential in a header, it is verified first: a
 * valid one counts against its identity, anything else against the address.
 */
function createTokenCalls({ trail, addressing, quotas }: RouteParts): (ctx: Context) => Promise<TokenCall> {
  const form = formBody();
  const limit = rateLimit(quotas.token);
  const address = tenancy(addressing, 'process');
  return async (ctx) => {
    const sender = senderOf(ctx, quotas.anonymous);
    const identify = (principal: Principal, ...steps: readonly Step[]) => {
      ctx.state.principal = principal;
      try {
        for (const step of steps) step(ctx);
      } catch (error) {
        throw withOAuthError(error, 'invalid_request');
      }
    };
    await form(ctx);
    return {
      form: required(ctx, 'form'),
      authorization: authorizationOf(ctx),
      clientCertificate: clientCertificateOf(ctx.req),
      sender,
      identified: (principal) => identify(principal, limit, address),
      revoking: (principal) => identify(principal, address),
      unidentified: () => count(ctx, quotas.anonymous, sender.address),
      note: (event) => note(ctx, event),
    };
  };

  async function note(ctx: Context, { principal, ...event }: TokenEvent): Promise<void> {
    try {
      await trail.record({
        ...auditDraft(ctx, principal, addressing.own(principal)),
        ...event,
        categories: [],
        ...(event.outcome === 'denied' && { error: 'RDCP_AUTH_FAILED' }),
      });
    } catch (cause) {
      throw REFUSALS.noTrail(cause);
    }
  }
}

function authorizationOf({ req }: Context): string | undefined {
  const [value, ...more] = req.headersDistinct.authorization ?? [];
  if (more.length > 0) throw badRequest('invalid_request', 'Authorization was sent more than once');
  return value;
}
