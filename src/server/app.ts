import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router } from '@koa/router';
import Koa from 'koa';
import type { AuditDraft, AuditTrail } from '../audit/types.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { hasCredentials } from '../auth/configured.ts';
import type { TokenService } from '../auth/tokens/service.ts';
import { type Clock, type Delay, type Schedule, unrefInterval, unrefTimeout } from '../clock.ts';
import type { Condition, Conditions } from '../conditions.ts';
import type { ResolvedConfig } from '../config.ts';
import type { ControlPlane } from '../control/types.ts';
import { RdcpError } from '../errors.ts';
import type { Fleet } from '../fleet/types.ts';
import type { ControlInstruments, Measurements } from '../metrics/types.ts';
import { withoutTracing } from '../own-work.ts';
import { CONSOLE_PATHS, HEADERS, PATHS, TOKEN_PATHS } from '../protocol/constants.ts';
import type { Emission } from '../protocol/emission.ts';
import type { Relay } from '../tail/relay.ts';
import { createAddressing } from '../tenancy/address.ts';
import type { Isolation } from '../tenancy/isolation.ts';
import { createAccessAudit } from './access-audit.ts';
import { createClientAddresses } from './client-address.ts';
import type { CodeBoard } from './console-codes.ts';
import { routeConsole } from './console-routes.ts';
import { createCredentialWatch } from './credential-watch.ts';
import { errorBoundary } from './error-answer.ts';
import { createHealthChecks, type HealthCheck } from './health-checks.ts';
import { readAsHttp1 } from './http2-request.ts';
import { createMetadataPath } from './metadata-path.ts';
import { authenticate, authorize, createIdentify, tenancy } from './middleware/access.ts';
import { jsonBody } from './middleware/body.ts';
import { formBody } from './middleware/form-body.ts';
import { clockSkew, contentNegotiation, identifiers, protocolVersion, singleHeaders } from './middleware/headers.ts';
import { fetchMetadata, hostAndOrigin } from './middleware/host-and-origin.ts';
import { refuseWhileClosing, timeout } from './middleware/lifetime.ts';
import { loopbackOnly } from './middleware/loopback-only.ts';
import { markAsOAuth } from './oauth-endpoint.ts';
import { createOpenStreams, type OpenStreams } from './open-streams.ts';
import { createRateLimiter, haveRefused, limitAddress, rateLimit } from './rate-limit.ts';
import { createRefusals } from './refusals.ts';
import { isOurs, knownPath, methodNotAllowed, rawPath, readAsOriginForm } from './request-target.ts';
import { audit } from './routes/audit.ts';
import { setPageHeaders } from './routes/console.ts';
import { control } from './routes/control.ts';
import { type Budgets, discovery, type SourceOf } from './routes/discovery.ts';
import { events } from './routes/events.ts';
import { fleetMembers } from './routes/fleet.ts';
import { forecast } from './routes/forecast.ts';
import { health } from './routes/health.ts';
import { introspect } from './routes/introspect.ts';
import { jwks } from './routes/jwks.ts';
import { metrics } from './routes/metrics.ts';
import { oauthMetadata } from './routes/oauth-metadata.ts';
import { revoke } from './routes/revoke.ts';
import { session } from './routes/session.ts';
import { status } from './routes/status.ts';
import { tail } from './routes/tail.ts';
import { tenants } from './routes/tenants.ts';
import { token } from './routes/token.ts';
import { wellKnown } from './routes/well-known.ts';
import { type Payers, SpentQuotas } from './spent-quotas.ts';
import { answer, endpoint, type RequestState, steps } from './steps.ts';
import { StreamPlaces } from './stream-places.ts';
import { createTokenCalls } from './token-call.ts';
import { Watchers } from './watchers.ts';

export interface DebugOutputs {
  readonly emission: Emission;
  readonly lost: boolean;
}

export interface AppDependencies {
  readonly config: ResolvedConfig;
  readonly plane: ControlPlane;
  readonly trail: AuditTrail;
  readonly authenticator: Authenticator;
  /** Present when the server issues tokens itself. */
  readonly tokens?: TokenService | undefined;
  /** Writes an audit entry that changes no state, and resolves when it is stored. */
  readonly record: (draft: AuditDraft) => Promise<void>;
  readonly measurements: Measurements;
  readonly instruments: ControlInstruments;
  /** How tenants are isolated. */
  readonly isolation: Isolation;
  /** Whether the application has worked for a tenant in this process. @default not known */
  readonly hasNamed?: ((tenantId: string) => boolean) | undefined;
  /** The processes that share the store, if it is shared. */
  readonly fleet?: Fleet | undefined;
  /** Where debug calls go, and whether they are lost. @default not reported */
  readonly outputs?: DebugOutputs;
  /** Budgets of debug calls. @default not reported, and any budget may be requested */
  readonly budgets?: Budgets;
  /** @default no category is adopted */
  readonly sourceOf?: SourceOf;
  /** Taps debug calls, in this process and the others of its fleet. */
  readonly relay: () => Promise<Relay>;
  /** Event streams in progress. @default they do not end with the server */
  readonly streams?: OpenStreams;
  /** @default timers that never keep the process alive */
  readonly schedule?: Schedule;
  /** @default timers that never keep the process alive */
  readonly delay?: Delay;
  /** Resolves when the store answers and accepts writes. */
  readonly checkStore: () => Promise<void>;
  /** True once the server closes; every request is then answered 503. */
  readonly closing: () => boolean;
  /** Temporary problems. @default none */
  readonly conditions?: Pick<Conditions, 'watch' | 'holding'>;
  /** Shared by the processes of a cluster. @default this process is alone */
  readonly board?: (() => CodeBoard | undefined) | undefined;
  readonly clock: Clock;
  readonly randomUUID: () => string;
  /** Receives errors whose details the client does not see. */
  readonly report: (error: unknown) => void;
}

/**
 * Answers requests to the endpoint. Any other request is passed to `next` unchanged, or answered 404 without `next`.
 */
export type RequestHandler = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;

/** Most tails of one identity. */
const MAX_TAILS = 2;
/** Most streams of events. */
const MAX_WATCHERS = { total: 32, perIdentity: 4 };

/** Paths that answer with an event stream. */
const EVENT_STREAMS: ReadonlySet<string> = new Set([PATHS.tail, PATHS.events]);

/** The endpoint: every route with its steps, in the order in which they run. */
export function createApp(dependencies: AppDependencies): RequestHandler {
  const { config, trail, authenticator, instruments, isolation, clock, randomUUID, closing, report } = dependencies;
  const { streams = createOpenStreams(), schedule = unrefInterval, delay = unrefTimeout } = dependencies;
  const { controlPerMinute, readPerMinute, healthPerMinute, anonymousPerMinute, requestTimeoutSeconds } = config.limits;
  const addressing = createAddressing(isolation);
  const findClient = createClientAddresses(config.server === false ? [] : config.server.trustedProxies);
  const refusals = createRefusals({ trail, instruments, addressing });
  const runChecks = createHealthChecks({ checks: healthChecks(dependencies), clock });

  const anonymous = createRateLimiter({ name: 'anonymous', limit: anonymousPerMinute, clock });
  const readers = createRateLimiter({ name: 'read', limit: readPerMinute, clock });
  const controllers = createRateLimiter({ name: 'control', limit: controlPerMinute, clock });
  const reads = rateLimit(readers);
  const controls = rateLimit(controllers);
  const { methods } = authenticator;
  const identify = createIdentify(authenticator, anonymous);
  const credential = authenticate({ identify, methods, limiter: anonymous });
  const probes = createRateLimiter({ name: 'health', limit: healthPerMinute, clock });
  const optional = authenticate({ identify, methods, limiter: anonymous, probes }, 'allowed');
  const open = authenticate({ identify, methods, limiter: anonymous }, 'open');
  const read = tenancy(addressing, 'read');
  const change = tenancy(addressing, 'change');
  const tap = tenancy(addressing, 'tap');
  const recordAccess = createAccessAudit(trail, config.security.level === 'enterprise');

  const router = new Router<RequestState>({ sensitive: true, strict: true });
  router.get(PATHS.wellKnown, endpoint(open, reads, answer(wellKnown({ ...dependencies, addressing }))));
  router.get(
    PATHS.discovery,
    endpoint(credential, reads, authorize('discovery'), read, answer(discovery(dependencies))),
  );
  router.get(
    PATHS.status,
    endpoint(credential, reads, authorize('status', 'discovery'), read, answer(status(dependencies))),
  );
  router.get(
    PATHS.health,
    endpoint(optional, reads, authorize('status', 'discovery'), read, answer(health({ ...dependencies, runChecks }))),
  );
  router.get(PATHS.metrics, endpoint(credential, reads, authorize('discovery'), read, answer(metrics(dependencies))));
  router.get(PATHS.tenants, endpoint(credential, reads, authorize('admin'), read, answer(tenants(dependencies))));
  router.get(PATHS.audit, endpoint(credential, reads, authorize('admin'), read, answer(audit(dependencies))));
  router.get(PATHS.session, endpoint(credential, reads, read, answer(session(dependencies))));
  router.get(
    PATHS.fleet,
    endpoint(credential, reads, authorize('status', 'discovery'), read, answer(fleetMembers(dependencies))),
  );
  router.post(
    PATHS.control,
    endpoint(
      credential,
      controls,
      authorize('control'),
      change,
      clockSkew(clock),
      jsonBody(),
      answer(control(dependencies)),
    ),
  );

  router.post(
    PATHS.forecast,
    endpoint(
      credential,
      controls,
      authorize('control'),
      tap,
      jsonBody(),
      answer(forecast({ ...dependencies, streams, recordAccess, delay })),
    ),
  );
  const watchCredential = createCredentialWatch({ identify, clock, schedule, delay });
  const timed = { ...dependencies, streams, watchCredential, schedule, delay };
  const watchers = new Watchers({ ...dependencies, schedule });
  if (config.tail !== false) {
    const { scope, maxStreams, rate } = config.tail;
    const { maxDuration } = config.controls;
    const places = new StreamPlaces({ name: 'tails', total: maxStreams, perIdentity: MAX_TAILS });
    router.get(
      PATHS.tail,
      endpoint(
        credential,
        controls,
        authorize(scope),
        tap,
        tail({ ...timed, places, recordAccess, scope, rate, maxDuration, revision: () => watchers.revision }),
      ),
    );
  }
  const watcherPlaces = new StreamPlaces({ name: 'event streams', ...MAX_WATCHERS });
  router.get(
    PATHS.events,
    endpoint(
      credential,
      reads,
      authorize('discovery'),
      read,
      events({ ...timed, watchers, places: watcherPlaces, snapshot: discovery(dependencies) }),
    ),
  );

  if (dependencies.tokens !== undefined) {
    const { tokens, record } = dependencies;
    const addresses = limitAddress(createRateLimiter({ name: 'address', limit: readPerMinute, clock }));
    const clients = rateLimit(createRateLimiter({ name: 'token', limit: controlPerMinute, clock }));
    const introspecting = rateLimit(createRateLimiter({ name: 'introspection', limit: readPerMinute, clock }));
    const parts = { record, addressing, anonymous, tenancy: read, form: formBody() };
    const calls = createTokenCalls({ ...parts, limit: clients });
    const lookups = createTokenCalls({ ...parts, limit: introspecting });
    router.post(TOKEN_PATHS.token, endpoint(answer(token({ tokens, calls, clock }))));
    router.post(TOKEN_PATHS.revoke, endpoint(answer(revoke({ tokens, calls, clock }))));
    router.post(TOKEN_PATHS.introspect, endpoint(answer(introspect({ tokens, calls: lookups }))));
    if (tokens.publishedKeys !== undefined) {
      router.get(TOKEN_PATHS.jwks, endpoint(addresses, answer(jwks(tokens.publishedKeys, clock))));
    }
    if (tokens.issuerUrl !== undefined) {
      router.get(TOKEN_PATHS.metadata, endpoint(addresses, answer(oauthMetadata(config, tokens, tokens.issuerUrl))));
    }
  }
  const visitors = createRateLimiter({ name: 'console', limit: readPerMinute, clock });
  const console = { methods, recordAccess, identified: [credential, controls], tenancy: read, anonymous, visitors };
  const files = routeConsole(router, { ...dependencies, streams, delay, ...console });
  const paths = new Set(router.stack.map(({ path }) => String(path)));
  const payers = new Map<string, Payers>(
    Object.values(PATHS).map((path) => [path, { identified: readers, failed: anonymous, anonymous }]),
  )
    .set(PATHS.control, { identified: controllers, failed: anonymous, anonymous })
    .set(PATHS.forecast, { identified: controllers, failed: anonymous, anonymous })
    .set(CONSOLE_PATHS.code, { identified: controllers, failed: anonymous, anonymous })
    .set(PATHS.tail, { identified: controllers, failed: anonymous, anonymous })
    .set(PATHS.health, { identified: readers, failed: anonymous, anonymous: probes });
  for (const path of files) payers.set(path, { identified: readers, failed: visitors, anonymous: visitors });
  const spentQuotas = new SpentQuotas({ payers, identify, addressing, instruments, randomUUID });
  const limiters = [...new Set([...payers.values()].flatMap((of) => [of.identified, of.failed, of.anonymous]))];
  const oauthPaths = new Set<string>(Object.values(TOKEN_PATHS).filter((path) => paths.has(path)));
  const { issuerUrl } = dependencies.tokens ?? {};
  const metadataPath = issuerUrl && createMetadataPath(issuerUrl);

  const app = new Koa<RequestState>({ proxy: false });
  app.use(errorBoundary({ randomUUID, refusals, addressing, report }));
  app.use(
    steps(
      refuseWhileClosing(closing),
      ...(hasCredentials(config.security) ? [] : [loopbackOnly()]),
      singleHeaders(isolation.level === undefined ? [] : [HEADERS.tenantId]),
      identifiers(),
      hostAndOrigin(),
      fetchMetadata(),
      knownPath(paths),
      protocolVersion(),
      contentNegotiation({ streams: EVENT_STREAMS, files }),
    ),
  );
  app.use(timeout(requestTimeoutSeconds, report));
  app.use(router.routes());
  app.use(endpoint(methodNotAllowed()));
  // The error boundary has answered and reported every error; the rest are clients that disconnected.
  app.on('error', () => undefined);

  const handle = app.callback();
  return (req, res, next) => {
    if (next !== undefined && !isOurs(req, metadataPath)) {
      next();
      return;
    }
    readAsHttp1(req);
    readAsOriginForm(req);
    findClient(req);
    metadataPath?.shorten(req);
    const path = rawPath(req.url);
    if (oauthPaths.has(path)) markAsOAuth(req);
    if (path === CONSOLE_PATHS.folder || path.startsWith(CONSOLE_PATHS.page)) setPageHeaders(res);
    withoutTracing(() => {
      if (closing() || !haveRefused(limiters, clock.monotonic())) void handle(req, res);
      else {
        const refused = spentQuotas.refuse(path, req, res).catch(report);
        void refused.then((answered) => (answered === true ? undefined : handle(req, res)));
      }
    });
  };
}

/**
 * A failing store or trail only degrades the service, which still works. Checks of the application decide by
 * themselves.
 */
function healthChecks({ config, checkStore, fleet, trail, conditions, outputs }: AppDependencies): HealthCheck[] {
  const trailHealthy = () => {
    if (!trail.healthy) throw unwell('the last write of the audit trail failed');
  };
  const credentialsReadable = () => {
    const problems = conditions?.holding.filter(({ credentials }) => credentials).map(({ problem }) => problem) ?? [];
    if (problems.length > 0) throw unwell(problems.join('; '));
  };
  const linesArrive = () => {
    if (outputs?.lost === true) throw unwell(`debug lines go nowhere: ${outputs.emission.reason}`);
    const backlog = conditions?.holding.find(({ name }) => name === 'output');
    if (backlog !== undefined) throw unwell(`debug lines are dropped: ${backlog.problem}`);
  };
  const notificationsArrive = () => {
    const problems = conditions?.holding.filter(({ name }) => name === 'notify').map(({ problem }) => problem) ?? [];
    if (problems.length > 0) throw unwell(problems.join('; '));
  };
  /** Checks that depend on the store add nothing while it is down. */
  const besidesOutage = (name: 'store_check' | 'fleet'): Condition | undefined => {
    const condition = conditions?.watch(name);
    return (
      condition && {
        begin(problem) {
          if (!conditions?.holding.some((held) => held.name === 'store')) condition.begin(problem);
        },
        end: condition.end,
      }
    );
  };
  return [
    { name: 'store', run: checkStore, onFailure: 'warn', condition: besidesOutage('store_check') },
    { name: 'audit', run: trailHealthy, onFailure: 'warn' },
    { name: 'credentials', run: credentialsReadable, onFailure: 'warn' },
    ...(fleet === undefined
      ? []
      : [{ name: 'fleet', run: () => fleet.check(), onFailure: 'warn' as const, condition: besidesOutage('fleet') }]),
    ...(outputs === undefined ? [] : [{ name: 'emit', run: linesArrive, onFailure: 'warn' as const }]),
    ...(config.notify.webhook === undefined
      ? []
      : [{ name: 'notify', run: notificationsArrive, onFailure: 'warn' as const }]),
    ...Object.entries(config.health).map(([name, run]) => ({ name, run, onFailure: 'fail' as const })),
  ];
}

function unwell(reason: string): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', reason);
}
