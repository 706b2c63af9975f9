import { hasScope, isOfTenants, mayTail } from '../../access/principal.ts';
import type { Member } from '../../control/fleet/types.ts';
import type { ResolvedConfig } from '../../options/config.ts';
import { CONSOLE_PATHS, PATHS, PROTOCOL, STANDARD_SCOPES, TOKEN_PATHS } from '../../wire/constants.ts';
import type { RdcpError } from '../../wire/errors.ts';
import type {
  ConsoleSettings,
  FleetMember,
  FleetResponse,
  HealthResponse,
  NotificationsResponse,
  SessionResponse,
  WellKnownDocument,
} from '../../wire/messages.ts';
import { isLoopback } from '../../wire/net/hosts.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { timestamp } from '../../wire/time.ts';
import { createHealthChecks, type HealthParts, healthChecks } from '../health-checks.ts';
import type { Uses } from '../parts.ts';
import { type Context, type Handler, opening, required } from '../steps.ts';

/** `GET /.well-known/rdcp`: the server's identity and features, for clients that know only its address. */
export function wellKnown({
  config,
  authenticator,
  tokens,
  fleet,
  outputs,
  addressing,
  hasPath,
}: Uses<'config' | 'authenticator' | 'tokens' | 'fleet' | 'outputs' | 'addressing' | 'hasPath'>): Handler {
  const { wellKnown: _, discovery, control, status, health, notifications: __, ...own } = PATHS;
  const { code: consoleCode, session: consoleSession } = CONSOLE_PATHS;
  // Without a shared store the list of processes is refused.
  const served = ([name, path]: [string, string]) => hasPath(path) && (name !== 'fleet' || fleet !== undefined);
  const capabilities = (): WellKnownDocument => ({
    protocol: PROTOCOL,
    endpoints: { discovery, control, status, health },
    capabilities: {
      multiTenancy: config.tenancy !== false,
      performanceMetrics: true,
      temporaryControls: true,
      auditTrail: true,
    },
    security: {
      level: config.security.level,
      methods: authenticator.methods,
      scopes: STANDARD_SCOPES,
      required: true,
      // Several API keys, and several signing keys, may be valid at once.
      keyRotation: authenticator.methods.some((method) => method !== 'mtls'),
      tokenRefresh: tokens !== undefined,
    },
    otelrdcp_endpoints: Object.fromEntries(
      Object.entries({ ...own, consoleCode, consoleSession, ...TOKEN_PATHS }).filter(served),
    ),
    ...(hasPath(CONSOLE_PATHS.page) && { otelrdcp_console: { page: CONSOLE_PATHS.page } }),
  });
  return (ctx) => {
    const { tenant } = addressing.own(ctx.state.principal);
    const body: WellKnownDocument = {
      ...capabilities(),
      ...(tenant !== undefined && { tenant }),
      ...(ctx.state.principal !== undefined && { otelrdcp_authenticated: true }),
      ...(maySeeEmission(ctx) && { otelrdcp_emit: outputs.emission }),
    };
    return { body };
  };
}

/** `GET /rdcp/v1/health`. An anonymous probe sees only the overall status. */
export function health(parts: HealthParts & Uses<'clock'>): Handler {
  const { clock, outputs } = parts;
  const runChecks = createHealthChecks({ checks: healthChecks(parts), clock });
  return async (ctx) => {
    const { status, checks } = await runChecks();
    const body: HealthResponse = {
      ...opening(ctx, clock),
      status,
      checks: ctx.state.principal === undefined ? [] : checks,
      ...(maySeeEmission(ctx) && { otelrdcp_emit: outputs.emission }),
    };
    return { body, status: status === 'unhealthy' ? 503 : 200 };
  };
}

/** `GET /rdcp/v1/session`: the auth context of the credential. */
export function session({
  config,
  isolation,
  service,
  clock,
}: Uses<'config' | 'isolation' | 'service' | 'clock'>): Handler {
  const settings = consoleSettings(config);
  const { tail } = config;
  return (ctx) => {
    const principal = required(ctx, 'principal');
    const { method, userId, tenants, scopes, allow, approval, sessionId, expiresAt } = principal;
    const { tenantId = isolation.contextOf(undefined)?.id } = principal;
    const body: SessionResponse = {
      ...opening(ctx, clock),
      authenticated: true,
      method,
      userId,
      ...(tenantId !== undefined && { tenantId }),
      ...(tenants !== undefined && { otelrdcp_tenants: tenants }),
      scopes,
      ...(allow !== undefined && { otelrdcp_allow: allow, ...(approval === true && { otelrdcp_approval: approval }) }),
      ...(sessionId !== undefined && { sessionId }),
      ...(expiresAt !== undefined && { expiresAt: timestamp(expiresAt) }),
      ...(settings !== undefined && {
        otelrdcp_console: {
          ...settings,
          ...(!isOfTenants(principal) && { service: service() }),
          ...(tail !== false && mayTail(principal, tail) && { tail: { rate: tail.rate } }),
        },
      }),
    };
    return { body };
  };
}

/**
 * `GET /rdcp/v1/fleet`: the processes that share the store. Hosts and process ids are for the owner: in multi-tenant
 * mode a tenant sees only their number, in its answers.
 */
export function fleetMembers({ fleet, clock }: Uses<'fleet' | 'clock'>): Handler {
  return async (ctx) => {
    if (required(ctx, 'principal').tenantId !== undefined) throw notForTenants(ctx, 'The list of processes');
    if (fleet === undefined) throw REFUSALS.noFleet();
    const { summary, members, lost } = await fleet.members();
    const now = clock.now();
    const body: FleetResponse = {
      ...opening(ctx, clock),
      revision: summary.revision,
      instances: members.map((member) => shown(member, now)),
      ...(lost.length > 0 && { lost: lost.map((member) => shown(member, now)) }),
    };
    return { body };
  };
}

/** `GET /rdcp/v1/notifications`: the receivers of notifications, and what became of the newest events. */
export function notifications({ notifications: receivers, clock }: Uses<'notifications' | 'clock'>): Handler {
  return (ctx) => {
    if (isOfTenants(required(ctx, 'principal'))) throw notForTenants(ctx, 'The list of notifications');
    const body: NotificationsResponse = { ...opening(ctx, clock), receivers: receivers() };
    return { body };
  };
}

function notForTenants(ctx: Context, what: string): RdcpError {
  return REFUSALS.tenantMismatch(required(ctx, 'principal').method, `${what} is not available to tenants`);
}

export function shown({ startedAt, silentFor, ...rest }: Member, now: number): FleetMember {
  return { ...rest, startedAt: timestamp(startedAt), lastSeenAt: timestamp(now - silentFor) };
}

/** Whether a caller may see where debug calls go, which reveals how the service is built. */
function maySeeEmission(ctx: Context): boolean {
  const { principal } = ctx.state;
  return principal !== undefined && hasScope(principal, 'status');
}

/** Settings of the console's page; `undefined` where it is not served. By default it is served on loopback alone. */
export function consoleSettings({
  console,
  server,
  controls,
}: Pick<ResolvedConfig, 'console' | 'server' | 'controls'>): ConsoleSettings | undefined {
  const served = console ?? (server !== false && isLoopback(server.host));
  if (served === false) return undefined;
  const { traceUrl } = served === true ? {} : served;
  return { maxDurationSeconds: controls.maxDuration, ...(traceUrl !== undefined && { traceUrl }) };
}
