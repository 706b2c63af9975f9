import type { Authenticator } from '../../auth/authenticator.ts';
import type { TokenService } from '../../auth/tokens/service.ts';
import type { ResolvedConfig } from '../../config.ts';
import type { Fleet } from '../../fleet/types.ts';
import { CONSOLE_PATHS, PATHS, PROTOCOL, SCOPES, TOKEN_PATHS } from '../../protocol/constants.ts';
import type { Emission } from '../../protocol/emission.ts';
import type { WellKnownDocument } from '../../protocol/messages.ts';
import type { Addressing } from '../../tenancy/address.ts';
import { consoleSettings } from '../console-settings.ts';
import type { Handler } from '../steps.ts';
import { maySeeEmission } from './emission.ts';

/** `GET /.well-known/rdcp`: the server's identity and features, for clients that know only its address. */
export function wellKnown({
  config,
  authenticator,
  tokens,
  addressing,
  fleet,
  outputs,
}: {
  config: ResolvedConfig;
  authenticator: Authenticator;
  tokens?: TokenService | undefined;
  addressing: Addressing;
  readonly fleet?: Fleet | undefined;
  readonly outputs?: { readonly emission: Emission };
}): Handler {
  const document: WellKnownDocument = {
    protocol: PROTOCOL,
    endpoints: {
      discovery: PATHS.discovery,
      control: PATHS.control,
      status: PATHS.status,
      health: PATHS.health,
    },
    capabilities: {
      multiTenancy: config.tenancy !== false,
      performanceMetrics: true,
      temporaryControls: true,
      auditTrail: true,
    },
    security: {
      level: config.security.level,
      methods: authenticator.methods,
      scopes: SCOPES,
      required: true,
      // Several API keys, and several signing keys, may be valid at once.
      keyRotation: authenticator.methods.some((method) => method !== 'mtls'),
      tokenRefresh: tokens !== undefined,
    },
    otelrdcp_endpoints: {
      metrics: PATHS.metrics,
      tenants: PATHS.tenants,
      audit: PATHS.audit,
      session: PATHS.session,
      forecast: PATHS.forecast,
      ...(config.tail !== false && { tail: PATHS.tail }),
      events: PATHS.events,
      ...(consoleSettings(config) !== undefined && {
        consoleCode: CONSOLE_PATHS.code,
        consoleSession: CONSOLE_PATHS.session,
      }),
      ...(fleet !== undefined && { fleet: PATHS.fleet }),
      ...(tokens !== undefined && {
        token: TOKEN_PATHS.token,
        revoke: TOKEN_PATHS.revoke,
        introspect: TOKEN_PATHS.introspect,
      }),
      ...(tokens?.publishedKeys !== undefined && { jwks: TOKEN_PATHS.jwks }),
      ...(tokens?.issuerUrl !== undefined && { metadata: TOKEN_PATHS.metadata }),
    },
    ...(consoleSettings(config) !== undefined && { otelrdcp_console: { page: CONSOLE_PATHS.page } }),
  };
  return (ctx) => {
    const { tenant } = addressing.own(ctx.state.principal);
    return {
      body: {
        ...document,
        ...(tenant !== undefined && { tenant }),
        ...(ctx.state.principal !== undefined && { otelrdcp_authenticated: true }),
        ...(maySeeEmission(ctx) && outputs !== undefined && { otelrdcp_emit: outputs.emission }),
      },
    };
  };
}
