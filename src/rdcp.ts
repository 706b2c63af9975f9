import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import { afterStart } from './after-start.ts';
import { credentialsDraft } from './audit/credentials.ts';
import { openSigner } from './audit/signing-key-file.ts';
import { createAuditTrail } from './audit/trail.ts';
import type { AuditTrail } from './audit/types.ts';
import { hasCredentials, openAuthentication } from './auth/configured.ts';
import { assertLevel } from './auth/levels.ts';
import { discoveryProblem } from './auth/tokens/issuer-url.ts';
import { systemClock, unrefInterval, unrefTimeout } from './clock.ts';
import type { Board } from './cluster/board.ts';
import { shareCalls } from './cluster/calls.ts';
import { type FollowedCluster, followCluster } from './cluster/following.ts';
import { type ConditionName, type Conditions, createConditions } from './conditions.ts';
import { parseConfig, type ResolvedConfig } from './config.ts';
import { createControlPlane } from './control/plane.ts';
import type { ControlPlane } from './control/types.ts';
import { withDeadline } from './deadline.ts';
import { diagnostics } from './diagnostics.ts';
import { budgetsOf } from './emit/budgets.ts';
import { createSink, type EmissionSink } from './emit/sink.ts';
import { configurationError, isRdcpError, RdcpError, storeProblem } from './errors.ts';
import { createFleet } from './fleet/fleet.ts';
import { describeInstance } from './fleet/instance.ts';
import type { Fleet } from './fleet/types.ts';
import { gate } from './gate/gate.ts';
import type { Category, CategoryOptions } from './gate/types.ts';
import { isLoopback } from './hosts.ts';
import { createInstruments, type Instruments } from './metrics/instruments.ts';
import { createMeasurements } from './metrics/measurements.ts';
import type { RdcpConfig } from './options.ts';
import type { Emission } from './protocol/emission.ts';
import { createReporter, type Reporter } from './reporter.ts';
import { type DeferredApp, deferApp, deferListener } from './server/deferred.ts';
import { assertServable } from './server/host-policy.ts';
import { noteHandshake } from './server/refusals.ts';
import { assertTlsFiles } from './server/tls-present.ts';
import { copyState } from './store/copy.ts';
import { openStore } from './store/open.ts';
import { createSqliteStore } from './store/sqlite.ts';
import { GLOBAL_SCOPE, type StateStore } from './store/state-store.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';
import { baggageTenant } from './tenancy/baggage.ts';
import { createIsolation, type Isolation } from './tenancy/isolation.ts';

/** Handles a request that is ours and passes any other, untouched, to `next`; without `next` it is answered 404. */
export type RdcpCallback = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;

/** A service's remote control: everything wired, nothing listening yet. */
export interface Rdcp {
  /** The debug category of that name; the same as `category()` of the api entry. */
  category(name: string, options?: CategoryOptions): Category;
  /** Runs `fn`, and everything asynchronous in it, as the tenant's. */
  runWithTenant<T>(tenantId: string, fn: () => T): T;
  /**
   * Opens the endpoint's own port, which never keeps the process alive. What failed may be tried again. In a process of a
   * cluster `shared` says that another one answers at that address too, or alone.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` with `server: false`, or when the address or certificate cannot be used;
   * `RDCP_UNAVAILABLE` once closed
   */
  listen(): Promise<{ readonly url: string; readonly shared?: boolean }>;
  /** The endpoint as a request handler, to mount in a `node:http`, Koa, Express or Fastify app. */
  callback(): RdcpCallback;
  /** Switches every category off, or back to what it is set to. The endpoint goes on answering. */
  setEnabled(enabled: boolean): void;
  /** Where debug calls go, and why. Another one when a logger provider is registered later. */
  readonly emission: Emission;
  /** Answers what is in flight, writes the audit trail out, and lets go of the gate: every category is off then. */
  close(): Promise<void>;
}

/** Longest that one part may take to close, in milliseconds; requests that are still in flight get 10 s. */
const CLOSE_DEADLINE_MS = 15_000;

const GLOBAL = { key: GLOBAL_SCOPE };

/**
 * Puts the service under remote control. Categories have their default state at once; what the store holds follows.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, whose message is one line that names the field
 */
export function createRdcp(config?: RdcpConfig): Rdcp;
/** @internal */
export function createRdcp(config: RdcpConfig | undefined, options: { telemetry?: Telemetry }): Rdcp;
export function createRdcp(
  config?: RdcpConfig,
  { telemetry = createTelemetry() }: { telemetry?: Telemetry } = {},
): Rdcp {
  const opened: Closable[] = [];
  try {
    return open(parseConfig(config), telemetry, opened);
  } catch (error) {
    void closeInOrder(opened.reverse());
    throw error;
  }
}

/** @param opened gets every part that must be closed again when a later one cannot be made */
function open(resolved: ResolvedConfig, telemetry: Telemetry, opened: Closable[]): Rdcp {
  const { server, security } = resolved;
  assertLevel(resolved);
  if (server !== false && !hasCredentials(security) && !isLoopback(server.host)) {
    throw configurationError(
      'security.apiKeys',
      `is required to listen on ${server.host}: without a credential only loopback is served`,
    );
  }
  const reporter = createReporter(resolved.logger);
  const conditions = createConditions({
    reporter,
    clock: systemClock,
    delay: unrefTimeout,
    credentialsFailed: (name) => control.parts.instruments.credentialFailure(name),
    credentialsChanged: (_name, problem, message) => control.parts.trail.note(credentialsDraft(problem, message)),
  });
  opened.push(conditions);
  /** What an operator wants to know goes to the log of the service, anything else to OpenTelemetry's diagnostics. */
  const report = (error: unknown) => {
    if (isRdcpError(error) && error.code === 'RDCP_AUDIT_WRITE_FAILED') reporter.error(error.message);
    else diagnose(error);
  };
  // Before anything is opened: it refuses addresses that must not be served.
  if (server !== false) {
    assertServable(server);
    assertTlsFiles(server);
  }
  const listener =
    server === false
      ? undefined
      : deferListener(server, (req, res) => handler(req, res), {
          load: () => control.app.load(),
          places: {
            total: resolved.limits.maxConnections,
            perAddress: resolved.limits.maxConnectionsPerAddress,
          },
          conditions,
          refused: (refusal) => noteHandshake(refusal, control.parts),
          production: process.env.NODE_ENV === 'production',
        });
  let closing: Promise<void> | undefined;
  let moving: Promise<void> | undefined;
  let enabled = true;
  const isolation = createIsolation(resolved.tenancy);
  const cluster = followCluster({
    joined: move,
    failed: (problem) => sharesNothing(resolved, reporter, problem),
    delay: unrefTimeout,
  });
  opened.push(cluster);
  const sink = createSink({
    telemetry,
    clock: systemClock,
    to: resolved.emit.to,
    env: process.env,
    reporter,
    condition: conditions.watch('output'),
    delay: unrefTimeout,
    budget: budgetsOf(resolved.controls.budget),
    redact: resolved.emit.redact,
    schedule: unrefInterval,
  });
  opened.push(sink);
  const shared = {
    telemetry,
    sink,
    isolation,
    reporter,
    conditions,
    report,
    board: () => cluster.board,
    closing: () => closing !== undefined,
  };
  let control = assemble(resolved, shared, openIn(cluster), opened);

  /** What one process keeps in memory is kept in a file of its cluster, so that all processes share it. */
  function openIn({ membership }: FollowedCluster): StateStore {
    const file = resolved.store === 'memory:' ? membership?.storeFile : undefined;
    try {
      if (file !== undefined) return isolation.storeFor(createSqliteStore(file, { lasting: false }));
    } catch (error) {
      sharesNothing(resolved, reporter, isRdcpError(error) ? error.message : 'internal error');
    }
    return isolation.storeFor(openStore(resolved.store, { maxBytes: resolved.limits.memoryStoreBytes }));
  }

  /** This process has become a primary. Requests that come meanwhile wait. */
  function move(): void {
    if (resolved.store === 'memory:' && closing === undefined)
      moving = moveControl()
        .catch(report)
        .finally(() => {
          moving = undefined;
        });
  }

  /** What was set, and the trail of it, goes from the memory of this process to the store of the cluster. */
  async function moveControl(): Promise<void> {
    const { fleet, plane, trail, store, ...rest } = control.parts;
    const clustered = openIn(cluster);
    await closeInOrder([fleet, plane, trail]);
    await copyState(store, clustered, systemClock.now());
    control = assemble(resolved, shared, clustered, []);
    control.parts.plane.setEnabled(enabled);
    await closeInOrder([...Object.values(rest), store]);
    conditions.forget();
  }

  const handler: RdcpCallback = (req, res, next) => {
    if (next !== undefined && !control.app.isOurs(req)) next();
    else if (moving === undefined) control.app.handler(req, res, next);
    else void moving.then(() => control.app.handler(req, res, next));
  };

  return {
    category: (name, options) => gate.category(name, options),
    runWithTenant: (tenantId, fn) => gate.runWithTenant(tenantId, fn),
    get emission() {
      return sink.outputs.emission;
    },
    listen: async () => {
      if (listener === undefined) throw configurationError('server', 'is false: mount callback() instead of listening');
      if (closing !== undefined) throw new RdcpError('RDCP_UNAVAILABLE', 'The remote control is closed');
      const { host, port } = server as Exclude<typeof server, false>;
      return cluster.listen('rdcp', `${host}:${port}`, () => listener.listen());
    },
    callback: () => {
      afterStart(() => control.app.load().catch(report));
      return handler;
    },
    setEnabled: (next) => {
      enabled = next;
      control.parts.plane.setEnabled(next);
    },
    close: () => {
      closing ??= (async () => {
        await closeInOrder([listener]);
        await moving;
        conditions.close();
        await closeInOrder([...Object.values(control.parts), cluster, sink]);
      })();
      return closing;
    },
  };
}

interface Shared {
  readonly telemetry: Telemetry;
  readonly sink: EmissionSink;
  readonly isolation: Isolation;
  readonly reporter: Reporter;
  readonly conditions: Conditions;
  readonly report: (error: unknown) => void;
  readonly board: () => Board | undefined;
  readonly closing: () => boolean;
}

/** Everything that lives as long as one store. */
interface Control {
  readonly app: DeferredApp;
  /** In the order in which they are closed. */
  readonly parts: {
    readonly fleet: Fleet | undefined;
    readonly plane: ControlPlane;
    readonly trail: AuditTrail;
    readonly calls: Closable;
    readonly measurements: Closable;
    readonly instruments: Instruments;
    readonly authenticator: Closable;
    readonly store: StateStore;
  };
}

/** @param opened gets every part that must be closed again when a later one cannot be made */
function assemble(resolved: ResolvedConfig, shared: Shared, store: StateStore, opened: Closable[]): Control {
  const { telemetry, sink, isolation, reporter, conditions, report, board, closing } = shared;
  const { security, limits, controls } = resolved;
  const clock = systemClock;
  opened.push(store);
  const { tokens: tokenStore } = store;
  const { authenticator, tokens } = openAuthentication(security, {
    clock,
    cwd: process.cwd(),
    conditions,
    report,
    tokenStore,
    tenancy: resolved.tenancy !== false,
  });
  opened.push(authenticator);
  const problem = security.tokens && discoveryProblem(security.tokens.issuer);
  if (problem !== undefined) reporter.warn(problem);
  const { tenantAttribute, rateWindowSeconds } = resolved.metrics;
  const baggageKey = resolved.tenancy === false ? undefined : resolved.tenancy.baggageKey;
  const instanceId = randomUUID();
  const outage = conditions.watch('store');

  const trail = createAuditTrail({
    store,
    telemetry,
    clock,
    schedule: unrefInterval,
    chain: {
      securityLevel: security.level,
      instanceId,
      retentionDays: resolved.audit.retentionDays,
    },
    randomUUID,
    refusalBytesPerDay: resolved.audit.refusalBytesPerDay,
    sign: resolved.audit.signingKeyFile === undefined ? undefined : openSigner(resolved.audit.signingKeyFile),
    failed: () => instruments.auditFailure(),
    condition: conditions.watch('audit'),
    report,
  });
  opened.push(trail);
  const plane = createControlPlane({
    gate,
    store,
    audit: trail,
    sink,
    clock,
    delay: unrefTimeout,
    limits: {
      defaultDuration: controls.defaultDuration,
      maxDuration: controls.maxDuration,
      maxTemporary: controls.maxTemporaryPerTenant,
      maxCategories: limits.maxCategories,
    },
    overrides: resolved.categories,
    limit: sink.budgets.setControl,
    securityLevel: security.level,
    tenantOf: isolation.tenantOf,
    countsTenants: isolation.separatesMetrics || tenantAttribute,
    currentTenant: baggageKey === undefined ? undefined : baggageTenant(baggageKey),
    outage,
    loss: conditions.watch('state_lost'),
    announce: resolved.announce ? reporter.info : undefined,
    claim: () => board()?.claim,
    report,
  });
  opened.push(plane);
  const measurements = createMeasurements({
    gate,
    clock,
    windowSeconds: rateWindowSeconds,
    schedule: unrefInterval,
  });
  opened.push(measurements);
  const calls = shareCalls({
    board,
    own: measurements,
    gate,
    clock,
    schedule: unrefInterval,
  });
  opened.push(calls);
  const instruments = createInstruments({
    telemetry,
    gate,
    measurements,
    ...(tenantAttribute && { tenantCalls: gate.tenantCalls }),
    states: () => plane.view(GLOBAL),
    conditions: () => holdingByName(conditions),
    temporaryControls: () => {
      const global = plane.temporaryControls(GLOBAL);
      return { global, tenants: plane.temporaryControls() - global };
    },
    schedule: unrefInterval,
  });
  opened.push(instruments);

  const { acknowledgeTimeoutSeconds, ...named } = resolved.fleet;
  const fleet =
    store.fleet &&
    createFleet({
      store: store.fleet,
      self: describeInstance(
        { id: instanceId, host: hostname(), pid: process.pid, startedAt: clock.now(), env: process.env },
        named,
      ),
      current: () => plane.current,
      acknowledgeTimeoutMs: acknowledgeTimeoutSeconds * 1000,
      clock,
      schedule: unrefInterval,
      delay: unrefTimeout,
      outage,
    });
  if (fleet !== undefined) opened.push(fleet);

  const app = deferApp({
    config: resolved,
    plane,
    trail,
    authenticator,
    tokens,
    record: async (draft) => {
      await trail.record(draft);
    },
    measurements: calls,
    instruments,
    isolation,
    fleet,
    outputs: sink.outputs,
    budgets: { ...sink.budgets, dropped: (index) => gate.droppedTotal(index) },
    checkStore: async () => {
      try {
        await store.check();
      } catch (cause) {
        throw new RdcpError('RDCP_UNAVAILABLE', storeProblem(cause), { cause });
      }
      if (plane.lost) throw new RdcpError('RDCP_UNAVAILABLE', 'the store has lost changes that it had acknowledged');
    },
    closing,
    conditions,
    clock,
    randomUUID,
    report,
  });

  void plane.start();
  fleet?.start();

  return { app, parts: { fleet, plane, trail, calls, measurements, instruments, authenticator, store } };
}

/** Said once at the start; otherwise a change that reaches one worker alone would have no visible reason. */
function sharesNothing({ store }: ResolvedConfig, reporter: Reporter, problem: string): void {
  reporter.warn(
    store === 'memory:'
      ? `the processes of this cluster are switched one by one (${problem}): set store to sqlite:FILE or redis://…`
      : `each process of this cluster answers with its own calls (${problem})`,
  );
}

function holdingByName({ holding, seen }: Conditions): [ConditionName, boolean][] {
  const names = new Set(holding.map(({ name }) => name));
  return [...seen].map((name) => [name, names.has(name)]);
}

interface Closable {
  close(): void | Promise<void>;
}

/** Closes one part after the other, also behind one that fails or hangs. */
async function closeInOrder(parts: readonly (Closable | undefined)[]): Promise<void> {
  for (const part of parts) {
    await withDeadline((async () => part?.close())().catch(diagnose), CLOSE_DEADLINE_MS);
  }
}

/**
 * To OpenTelemetry's own diagnostics. Of our errors the code tells enough; of any other the stack is needed. Both may name
 * a file, which helps the service's owner. What would quote a credential is never made the cause of an error.
 */
function diagnose(error: unknown): void {
  if (!isRdcpError(error)) diagnostics.error('rdcp: internal error', error);
  else
    diagnostics.error(
      `rdcp: ${error.code}: ${error.message}`,
      ...(error.cause instanceof Error ? [error.cause.message] : []),
    );
}
