import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router } from '@koa/router';
import Koa from 'koa';
import type { Authenticator } from '../access/authenticator.ts';
import { hasCredentials } from '../access/configured.ts';
import type { TokenService } from '../access/tokens/service.ts';
import type { ControlInstruments, SharedMeasurements } from '../calls/metrics/types.ts';
import type { Reach } from '../calls/recorder/types.ts';
import type { Relay } from '../calls/tail/relay.ts';
import type { Approvals } from '../control/approvals.ts';
import type { Choosing } from '../control/fleet/choosing.ts';
import type { Fleet } from '../control/fleet/types.ts';
import { createAddressing } from '../control/tenancy/address.ts';
import type { Isolation } from '../control/tenancy/isolation.ts';
import type { ControlPlane } from '../control/types.ts';
import type { ResolvedConfig } from '../options/config.ts';
import type { Conditions } from '../otel/report/conditions.ts';
import type { ReportFault } from '../otel/report/faults.ts';
import type { AuditTrail } from '../trail/types.ts';
import { ALERTS_BOUNDS, CONSOLE_PATHS, HEADERS, PATHS, TOKEN_PATHS } from '../wire/constants.ts';
import type { Emission } from '../wire/emission.ts';
import type { NotificationReceiver } from '../wire/messages.ts';
import type { Clock, Delay, Schedule } from '../wire/time/clock.ts';
import { createAccessAudit, createNoteRefusal, type RecordAccess } from './audit.ts';
import { type CodeBoard, ConsoleCodes } from './console/codes.ts';
import {
  authenticate,
  authorize,
  authorizeOfTenants,
  createIdentify,
  createRateLimiter,
  limitAddress,
  limitControls,
  limitRefusals,
  rateLimit,
  tenancy,
} from './middleware/access.ts';
import { jsonBody } from './middleware/body.ts';
import {
  clockSkew,
  contentNegotiation,
  fetchMetadata,
  hostAndOrigin,
  identifiers,
  knownPath,
  loopbackOnly,
  methodNotAllowed,
  protocolVersion,
  refuseWhileClosing,
  sameMachineOnly,
  singleHeaders,
} from './middleware/headers.ts';
import { createMetadataPath } from './paths.ts';
import { createRequestReader } from './request.ts';
import { alerts, takesNotifications } from './routes/alerts.ts';
import { approvals, approve } from './routes/approvals.ts';
import { audit } from './routes/audit.ts';
import { type Budgets, discovery, metrics, refreshCategories, type SourceOf, status } from './routes/categories.ts';
import { consoleCode, consoleFiles, consoleRedirect, consoleSession, setPageHeaders } from './routes/console.ts';
import { control } from './routes/control.ts';
import { events } from './routes/events.ts';
import { failures } from './routes/failures.ts';
import { forecast } from './routes/forecast.ts';
import { createTokenCalls, jwks, oauthMetadata, revoke, token } from './routes/oauth.ts';
import { openApi } from './routes/openapi.ts';
import { consoleSettings, fleetMembers, health, notifications, session, wellKnown } from './routes/service.ts';
import { tail } from './routes/tail.ts';
import { tenants } from './routes/tenants.ts';
import { answer, endpoint, errorBoundary, type RequestState, type Step, steps } from './steps.ts';
import { createCredentialWatch, type WatchCredential } from './streams/credential-watch.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import { Watchers } from './streams/watchers.ts';

interface DebugOutputs {
  readonly emission: Emission;
  readonly lost: boolean;
}

/** The debug calls of the process: where they come from, what limits them, and where they go. */
interface DebugCalls {
  readonly sourceOf: SourceOf;
  /** Whether the application has worked for a tenant in this process. */
  hasNamed(tenantId: string): boolean;
  /** The tenants that the application has worked for in this process. */
  readonly namedTenants: ReadonlySet<string>;
  readonly budgets: Budgets;
  /** Whether each category of this process is recorded, by its name. */
  recorded(): ReadonlyMap<string, boolean>;
  /** How much the recorder keeps of work that has ended. */
  reach(): Reach;
  /** Where debug calls go, and whether they are lost. */
  readonly outputs: DebugOutputs;
}

/** Parts of the state in use: they live as long as its store. */
export interface StateParts {
  readonly plane: ControlPlane;
  readonly trail: AuditTrail;
  readonly authenticator: Authenticator;
  /** Present when the server issues tokens itself. */
  readonly tokens: TokenService | undefined;
  /** The processes that share the store, if it is shared. */
  readonly fleet: Fleet | undefined;
  readonly choosing: Choosing;
  /** Taps debug calls, in this process and the others of its fleet. */
  readonly relay: Relay;
  /** Changes that wait for an approval. */
  readonly approvals: Approvals;
  /** Event streams in progress. */
  readonly streams: OpenStreams;
  /** Resolves when the store answers and accepts writes. */
  readonly checkStore: () => Promise<void>;
}

/** Parts of the process: they outlive a change of the store. */
interface HostParts {
  /** Name of this process's service. */
  readonly service: () => string;
  readonly measurements: SharedMeasurements;
  readonly instruments: ControlInstruments;
  /** How tenants are isolated. */
  readonly isolation: Isolation;
  /** Temporary problems. */
  readonly conditions: Pick<Conditions, 'watch' | 'holding'>;
  /** Shared by the processes of a cluster; `undefined` while this process is in none. */
  readonly board: () => CodeBoard | undefined;
  /** Outcomes of the newest notifications. */
  readonly notifications: () => readonly NotificationReceiver[];
  /** Aborted once the server closes; every request is then answered 503. */
  readonly closing: AbortSignal;
  readonly randomUUID: () => string;
  /** Receives errors whose details the client does not see. */
  readonly report: (error: unknown) => void;
  /** Receives unforeseen errors, which are reported to the service's owner. */
  readonly fault: ReportFault;
}

export interface Time {
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly delay: Delay;
}

/** The parts of the endpoint, grouped by their lifetime. */
export interface AppDependencies {
  readonly config: ResolvedConfig;
  readonly state: StateParts;
  readonly debug: DebugCalls;
  readonly host: HostParts;
  readonly time: Time;
}

/** Dependencies of routes whose answers are streams. */
export interface StreamDependencies extends AppDependencies {
  readonly recordAccess: RecordAccess;
  readonly watchCredential: WatchCredential;
  readonly watchers: Watchers;
}

/**
 * Answers requests to the endpoint. Any other request is passed to `next` unchanged, or answered 404 without `next`.
 */
export type RequestHandler = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;

/** Answers a request to the endpoint. */
type Handle = (req: IncomingMessage, res: ServerResponse) => void;

/** Requests of an identity that end something are never refused before this many a minute. */
const ENDINGS_PER_MINUTE = 600;

/** Paths that answer with an event stream. */
const EVENT_STREAMS: ReadonlySet<string> = new Set([PATHS.tail, PATHS.events]);

/** The endpoint: every route with its steps, in the order in which they run. */
export function createApp(dependencies: AppDependencies): Handle {
  const { config, state, host, time } = dependencies;
  const { trail, authenticator, tokens, streams } = state;
  const { instruments, measurements, isolation, randomUUID, report, fault } = host;
  const { clock, delay } = time;
  const { methods } = authenticator;
  const { controlPerMinute, readPerMinute, healthPerMinute, anonymousPerMinute, requestTimeoutSeconds } = config.limits;
  const addressing = createAddressing(isolation, dependencies.debug.namedTenants);
  const recordAccess = createAccessAudit(trail, config.security.level === 'enterprise');

  const limiter = (name: string, limit: number) => createRateLimiter({ name, limit, clock });
  const anonymous = limiter('anonymous', anonymousPerMinute);
  const identify = createIdentify(authenticator, anonymous);
  const reads = rateLimit(limiter('read', readPerMinute));
  const controlLimiter = limiter('control', controlPerMinute);
  const controls = rateLimit(controlLimiter);
  const endings = limiter('ending', Math.max(ENDINGS_PER_MINUTE, controlPerMinute));
  const credential = authenticate({ identify, methods, limiter: anonymous });
  const probes = limiter('health', healthPerMinute);
  const optional = authenticate({ identify, methods, limiter: anonymous, probes }, 'allowed');
  const open = authenticate({ identify, methods, limiter: anonymous }, 'open');
  const read = tenancy(addressing, 'read');
  const change = tenancy(addressing, 'change');
  const tap = tenancy(addressing, 'tap');
  const processWide = tenancy(addressing, 'process');

  const router = new Router<RequestState>({ sensitive: true, strict: true });
  const get = (path: string, ...sequence: Step[]) => router.get(path, endpoint(...sequence));
  const post = (path: string, ...sequence: Step[]) => router.post(path, endpoint(...sequence));

  get(PATHS.wellKnown, open, reads, answer(wellKnown(dependencies, addressing)));
  const refreshed = refreshCategories(state);
  get(PATHS.discovery, credential, reads, authorize('discovery'), read, refreshed, answer(discovery(dependencies)));
  get(PATHS.status, credential, reads, authorize('status', 'discovery'), read, answer(status(dependencies)));
  get(PATHS.health, optional, reads, authorize('status', 'discovery'), processWide, answer(health(dependencies)));
  get(
    PATHS.metrics,
    credential,
    reads,
    authorize('discovery'),
    read,
    refreshed,
    answer(metrics(state, measurements, clock)),
  );
  get(PATHS.tenants, credential, reads, authorizeOfTenants, read, refreshed, answer(tenants(dependencies)));
  get(PATHS.audit, credential, reads, authorizeOfTenants, read, answer(audit(trail, clock)));
  get(PATHS.session, credential, reads, processWide, answer(session(config, host, clock)));
  get(
    PATHS.fleet,
    credential,
    reads,
    authorize('status', 'discovery'),
    processWide,
    answer(fleetMembers(state, clock)),
  );
  get(PATHS.notifications, credential, reads, authorize('admin'), read, answer(notifications(host, clock)));
  post(
    PATHS.control,
    credential,
    limitControls(controlLimiter, endings),
    authorize('control'),
    change,
    clockSkew(clock),
    jsonBody(),
    answer(control(dependencies)),
  );

  get(PATHS.approvals, credential, reads, authorize('admin'), read, answer(approvals(state, clock)));
  post(
    PATHS.approve,
    credential,
    controls,
    authorize('admin'),
    change,
    clockSkew(clock),
    jsonBody(),
    answer(approve(dependencies)),
  );

  if (takesNotifications(config)) {
    const byWebhook = createIdentify(authenticator, anonymous, true);
    const sender = authenticate({ identify: byWebhook, methods, limiter: anonymous });
    const body = jsonBody(ALERTS_BOUNDS);
    post(PATHS.alerts, sender, reads, authorize('alerts'), processWide, body, answer(alerts(dependencies)));
  }

  const hasPath = (path: string) => paths.has(path);
  get(PATHS.openapi, credential, reads, authorize('discovery'), read, answer(openApi(hasPath)));

  const watchers = new Watchers(state, time);
  const watchCredential = createCredentialWatch(identify, time);
  const streaming = { ...dependencies, recordAccess, watchCredential, watchers };
  post(
    PATHS.forecast,
    credential,
    controls,
    authorize('control', 'tail'),
    tap,
    jsonBody(),
    answer(forecast(dependencies, recordAccess)),
  );
  get(PATHS.events, credential, reads, authorize('discovery'), read, refreshed, events(streaming));
  if (config.tail !== false) {
    const open = [credential, controls, authorize(config.tail.scope, 'tail'), tenancy(addressing, 'tail')];
    const lines = tail(streaming, config.tail);
    get(PATHS.tail, ...open, lines);
    post(PATHS.tail, ...open, jsonBody(), lines);
    const reading = [credential, reads, authorize(config.tail.scope, 'tail'), tenancy(addressing, 'tail')];
    post(PATHS.failures, ...reading, jsonBody(), answer(failures(dependencies, recordAccess)));
  }

  if (tokens !== undefined) {
    const addresses = limitAddress(limiter('address', readPerMinute));
    const limit = rateLimit(limiter('token', controlPerMinute));
    const calls = createTokenCalls({ trail, addressing, anonymous, limit, tenancy: processWide });
    post(TOKEN_PATHS.token, answer(token(tokens, calls, clock)));
    post(TOKEN_PATHS.revoke, answer(revoke(tokens, calls, clock)));
    const { publishedKeys, issuerUrl } = tokens;
    if (publishedKeys !== undefined) get(TOKEN_PATHS.jwks, addresses, answer(jwks(publishedKeys, clock)));
    if (issuerUrl !== undefined) {
      get(TOKEN_PATHS.metadata, addresses, answer(oauthMetadata(config, tokens, issuerUrl)));
    }
  }

  const files = new Set<string>();
  if (consoleSettings(config) !== undefined) {
    const codes = new ConsoleCodes({ clock, delay, board: host.board, report });
    streams.add(() => codes.clear());
    const console = { codes, recordAccess, clock };
    post(CONSOLE_PATHS.code, credential, controls, processWide, sameMachineOnly(), answer(consoleCode(console)));
    post(
      CONSOLE_PATHS.session,
      limitRefusals(anonymous, sameMachineOnly(), jsonBody(), answer(consoleSession(console, methods, processWide))),
    );
    const visitors = limitAddress(limiter('console', readPerMinute));
    for (const [path, file] of [[CONSOLE_PATHS.folder, consoleRedirect()] as const, ...consoleFiles()]) {
      files.add(path);
      get(path, visitors, file);
    }
  }

  const paths = new Set(router.stack.map(({ path }) => String(path)));
  const issuerUrl = tokens?.issuerUrl;
  const readRequest = createRequestReader({
    trustedProxies: config.server === false ? [] : config.server.trustedProxies,
    metadataPath: issuerUrl && createMetadataPath(issuerUrl),
    oauthPaths: new Set(Object.values(TOKEN_PATHS).filter((path) => paths.has(path))),
  });

  const app = new Koa<RequestState>({ proxy: false });
  const noteRefusal = createNoteRefusal(trail, instruments, addressing);
  app.use(errorBoundary({ timeoutSeconds: requestTimeoutSeconds, randomUUID, noteRefusal, addressing, fault }));
  app.use(
    steps(
      refuseWhileClosing(host.closing),
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
  app.use(router.routes());
  app.use(endpoint(methodNotAllowed()));
  // The error boundary has answered and reported every error of a step. Those with a code are clients that disconnected.
  app.on('error', (error) => {
    if (!('code' in error)) fault(error, 'the answer to a request');
  });

  const handle = app.callback();
  return (req, res) => {
    const { path } = readRequest(req);
    if (path === CONSOLE_PATHS.folder || path.startsWith(CONSOLE_PATHS.page)) setPageHeaders(res);
    void handle(req, res);
  };
}
