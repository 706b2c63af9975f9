import { hasScope, isOfTenants, mayTail } from '../../access/principal.ts';
import type { Member } from '../../control/fleet/fleet.ts';
import type { ResolvedConfig } from '../../options/config.ts';
import { type Condition, type Conditions, UNWATCHED } from '../../otel/report/conditions.ts';
import { joining } from '../../store/one-at-a-time.ts';
import { CONSOLE_PATHS, PATHS, PROTOCOL, STANDARD_SCOPES, TOKEN_PATHS } from '../../wire/constants.ts';
import { failureCode, isRdcpError, RdcpError } from '../../wire/errors.ts';
import type {
  ConsoleSettings,
  FleetMember,
  FleetResponse,
  HealthCheckRecord,
  HealthResponse,
  NotificationsResponse,
  SessionResponse,
  WellKnownDocument,
} from '../../wire/messages.ts';
import { isLoopback } from '../../wire/net/hosts.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { type Timestamp, timestamp } from '../../wire/time.ts';
import type { RouteParts } from '../parts.ts';
import { type Context, type Handler, opening, required } from '../steps.ts';

/** `GET /.well-known/rdcp`: the server's identity and features, for clients that know only its address. */
export function wellKnown({ config, authenticator, tokens, fleet, outputs, addressing, hasPath }: RouteParts): Handler {
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
export function health(parts: RouteParts): Handler {
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
export function session({ config, isolation, service, clock }: RouteParts): Handler {
  const settings = consoleSettings(config);
  const { tail, recorder } = config;
  const { keepSeconds } = recorder;
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
          ...(tail !== false && mayTail(principal, tail) && { tail: { rate: tail.rate, keepSeconds } }),
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
export function fleetMembers({ fleet, clock }: RouteParts): Handler {
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
export function notifications({ notifications: receivers, clock }: RouteParts): Handler {
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

export interface HealthCheck {
  readonly name: string;
  readonly run: () => unknown;
  /** The effect of a failure: `warn` degrades the service, `fail` makes it unhealthy. */
  readonly onFailure: 'warn' | 'fail';
  /** Holds from a failure until the check passes. @default not watched */
  readonly condition?: Condition | undefined;
}

const DEADLINE_MS = 5000;
/** How long a result is reused, in milliseconds, so that a flood of probes costs one run. */
const FRESH_MS = 1000;

/** Runs every check in parallel. Concurrent callers share a run, and its result is reused for a second. */
export function createHealthChecks({
  checks,
  clock,
  deadlineMs = DEADLINE_MS,
}: {
  checks: readonly HealthCheck[];
  clock: Clock;
  deadlineMs?: number;
}) {
  const runs = checks.map((check) => createRun(check, clock, deadlineMs));
  let at = Number.NEGATIVE_INFINITY;
  let latest: HealthCheckRecord[] = [];
  const runAll = joining(async () => {
    latest = await Promise.all(runs.map((run) => run()));
    at = clock.monotonic();
  });
  return async () => {
    if (clock.monotonic() - at >= FRESH_MS) await runAll();
    return { status: overall(latest), checks: latest };
  };
}

/** Runs one check. A hanging check is never started again, so that hanging runs do not pile up. */
function createRun(
  { name, run, onFailure, condition = UNWATCHED }: HealthCheck,
  clock: Clock,
  deadlineMs: number,
): () => Promise<HealthCheckRecord> {
  const joined = joining(async () => run());
  let failingSince: Timestamp | undefined;
  return async () => {
    const started = clock.monotonic();
    const reason = await failureOf(joined(), deadlineMs);
    const duration = `${Math.max(0, Math.round(clock.monotonic() - started))}ms`;
    if (reason === undefined) {
      condition.end();
      failingSince = undefined;
      return { name, status: 'pass', duration };
    }
    condition.begin(`health check ${name}: ${reason}`);
    failingSince ??= timestamp(clock.now());
    return { name, status: onFailure, duration, otelrdcp_reason: reason, otelrdcp_since: failingSince };
  };
}

async function failureOf(result: Promise<unknown>, deadlineMs: number): Promise<string | undefined> {
  const { promise: expired, resolve: expire } = Promise.withResolvers<string>();
  const timer = setTimeout(expire, deadlineMs, `no answer within ${deadlineMs / 1000} s`).unref();
  try {
    return await Promise.race([result.then(() => undefined, reasonOf), expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** A check may throw anything, even a password, so only the error code is shown. */
function reasonOf(error: unknown): string {
  return isRdcpError(error) ? error.message : `it failed${failureCode(error)}`;
}

function overall(records: readonly HealthCheckRecord[]): HealthResponse['status'] {
  if (records.some(({ status }) => status === 'fail')) return 'unhealthy';
  return records.some(({ status }) => status === 'warn') ? 'degraded' : 'healthy';
}

/**
 * A failing store or trail only degrades the service, which still works. Checks of the application decide by
 * themselves.
 */
function healthChecks({ config, checkStore, fleet, trail, outputs, conditions }: RouteParts): HealthCheck[] {
  const storeUsable = async () => {
    await checkStore();
    // The store may answer what cannot be applied.
    none(({ name }) => name === 'store' || name === 'malformed')();
  };
  const trailHealthy = () => {
    if (!trail.healthy) throw unwell('the last write of the audit trail failed');
  };
  const none = (holds: (condition: Conditions['holding'][number]) => boolean) => () => {
    const problems = conditions.holding.filter(holds).map(({ problem }) => problem);
    if (problems.length > 0) throw unwell(problems.join('; '));
  };
  const linesArrive = () => {
    if (outputs.lost) throw unwell(`debug lines go nowhere: ${outputs.emission.reason}`);
    const unexported = conditions.holding.find(({ name }) => name === 'export');
    if (unexported !== undefined) throw unwell(unexported.problem);
    const backlog = conditions.holding.find(({ name }) => name === 'output');
    if (backlog !== undefined) throw unwell(`debug lines are dropped: ${backlog.problem}`);
  };
  /** Checks that depend on the store add nothing while it is down. */
  const besidesOutage = (name: 'store_check' | 'fleet'): Condition => {
    const condition = conditions.watch(name);
    return {
      begin(problem) {
        if (!conditions.holding.some(({ name }) => name === 'store' || name === 'malformed')) condition.begin(problem);
      },
      end: condition.end,
    };
  };
  return [
    { name: 'store', run: storeUsable, onFailure: 'warn', condition: besidesOutage('store_check') },
    { name: 'audit', run: trailHealthy, onFailure: 'warn' },
    { name: 'credentials', run: none(({ credentials }) => credentials), onFailure: 'warn' },
    ...(fleet === undefined
      ? []
      : [{ name: 'fleet', run: () => fleet.check(), onFailure: 'warn' as const, condition: besidesOutage('fleet') }]),
    { name: 'emit', run: linesArrive, onFailure: 'warn' },
    ...(['notify', 'pull'] as const)
      .filter((each) => (each === 'pull' ? config.pull : config.notify.webhook) !== undefined)
      .map((each) => ({ name: each, run: none(({ name }) => name === each), onFailure: 'warn' as const })),
    ...Object.entries(config.health).map(([name, run]) => ({ name, run, onFailure: 'fail' as const })),
  ];
}

function unwell(reason: string): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', reason);
}
