import type { Authenticator } from '../../auth/authenticator.ts';
import type { ResolvedConfig } from '../../config.ts';
import type { Fleet } from '../../fleet/types.ts';
import { PATHS, PROTOCOL, SCOPES } from '../../protocol/constants.ts';
import type { WellKnownDocument } from '../../protocol/messages.ts';
import type { Addressing } from '../../tenancy/address.ts';
import type { Handler } from '../context.ts';

/** `GET /.well-known/rdcp`: what this server is and can do, for clients that know only its address. */
export function wellKnown({
  config,
  authenticator,
  addressing,
  fleet,
}: {
  config: ResolvedConfig;
  authenticator: Authenticator;
  addressing: Addressing;
  readonly fleet?: Fleet | undefined;
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
      keyRotation: authenticator.methods.includes('api-key'),
      tokenRefresh: false,
    },
    otelrdcp_endpoints: {
      metrics: PATHS.metrics,
      tenants: PATHS.tenants,
      audit: PATHS.audit,
      session: PATHS.session,
      ...(fleet !== undefined && { fleet: PATHS.fleet }),
    },
  };
  return (ctx) => {
    const { tenant } = addressing.own(ctx.state.principal);
    return { body: tenant === undefined ? document : { ...document, tenant } };
  };
}
