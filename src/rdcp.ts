import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import { createAuditTrail } from './audit/trail.ts';
import { hasCredentials, openAuthentication } from './auth/configured.ts';
import { assertLevel } from './auth/levels.ts';
import { discoveryProblem } from './auth/tokens/issuer-url.ts';
import { systemClock, unrefInterval, unrefTimeout } from './clock.ts';
import { parseConfig, type RdcpConfig, type ResolvedConfig } from './config.ts';
import { createControlPlane } from './control/plane.ts';
import { withDeadline } from './deadline.ts';
import { diagnostics } from './diagnostics.ts';
import { createSink } from './emit/sink.ts';
import { isRdcpError, RdcpError } from './errors.ts';
import { createFleet } from './fleet/fleet.ts';
import { describeInstance } from './fleet/instance.ts';
import { gate } from './gate/gate.ts';
import type { Category, CategoryOptions } from './gate/types.ts';
import { createInstruments } from './metrics/instruments.ts';
import { createMeasurements } from './metrics/measurements.ts';
import { createReporter } from './reporter.ts';
import { createApp } from './server/app.ts';
import { isLoopback } from './server/host-policy.ts';
import { createListener } from './server/listener.ts';
import { noteHandshake } from './server/refusals.ts';
import { openStore } from './store/open.ts';
import { GLOBAL_SCOPE } from './store/state-store.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';
import { baggageTenant } from './tenancy/baggage.ts';
import { createIsolation } from './tenancy/isolation.ts';

/** Handles a request that is ours and passes any other, untouched, to `next`; without `next` it is answered 404. */
export type RdcpCallback = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void) => void;

/** A service's remote control: everything wired, nothing listening yet. */
export interface Rdcp {
  /** The debug category of that name; the same as `category()` of the api entry. */
  category(name: string, options?: CategoryOptions): Category;
  /** Runs `fn`, and everything asynchronous in it, as the tenant's. */
  runWithTenant<T>(tenantId: string, fn: () => T): T;
  /**
   * Opens the endpoint's own port, which never keeps the process alive. What failed may be tried again.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` with `server: false`, or when the address or certificate cannot be used;
   * `RDCP_UNAVAILABLE` once closed
   */
  listen(): Promise<{ readonly url: string }>;
  /** The endpoint as a request handler, to mount in a `node:http`, Koa, Express or Fastify app. */
  callback(): RdcpCallback;
  /** Switches every category off, or back to what it is set to. The endpoint goes on answering. */
  setEnabled(enabled: boolean): void;
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
export function createRdcp(
  config?: RdcpConfig,
  { telemetry = createTelemetry() }: { telemetry?: Telemetry } = {},
): Rdcp {
  const opened: Closable[] = [];
  try {
    return assemble(parseConfig(config), telemetry, opened);
  } catch (error) {
    void closeInOrder(opened.reverse());
    throw error;
  }
}

/** @param opened gets every part that must be closed again when a later one cannot be made */
function assemble(resolved: ResolvedConfig, telemetry: Telemetry, opened: Closable[]): Rdcp {
  const { server, security, limits, controls } = resolved;
  const clock = systemClock;
  assertLevel(resolved);
  if (server !== false && !hasCredentials(security) && !isLoopback(server.host)) {
    throw invalid(
      'security.apiKeys',
      `is required to listen on ${server.host}: without a credential only loopback is served`,
    );
  }
  // Before anything is opened: it refuses addresses that must not be served.
  const listener =
    server === false
      ? undefined
      : createListener(server, (req, res) => handler(req, res), {
          report,
          refused: (refusal) => noteHandshake(refusal, { trail, instruments }),
          production: process.env.NODE_ENV === 'production',
        });
  const isolation = createIsolation(resolved.tenancy);
  const store = isolation.storeFor(openStore(resolved.store, { maxBytes: limits.memoryStoreBytes }));
  opened.push(store);
  const { tokens: tokenStore } = store;
  const { authenticator, tokens } = openAuthentication(security, { clock, cwd: process.cwd(), report, tokenStore });
  opened.push(authenticator);
  const problem = security.tokens && discoveryProblem(security.tokens.issuer);
  if (problem !== undefined) createReporter(resolved.logger).warn(problem);
  const { tenantAttribute, rateWindowSeconds } = resolved.metrics;
  const baggageKey = resolved.tenancy === false ? undefined : resolved.tenancy.baggageKey;
  const instanceId = randomUUID();

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
    failed: () => instruments.auditFailure(),
    report,
  });
  opened.push(trail);
  const plane = createControlPlane({
    gate,
    store,
    audit: trail,
    sink: createSink({ telemetry, clock }),
    clock,
    delay: unrefTimeout,
    limits: {
      defaultDuration: controls.defaultDuration,
      maxDuration: controls.maxDuration,
      maxTemporary: controls.maxTemporaryPerTenant,
      maxCategories: limits.maxCategories,
    },
    overrides: resolved.categories,
    securityLevel: security.level,
    tenantOf: isolation.tenantOf,
    countsTenants: isolation.separatesMetrics || tenantAttribute,
    currentTenant: baggageKey === undefined ? undefined : baggageTenant(baggageKey),
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
  const instruments = createInstruments({
    telemetry,
    gate,
    measurements,
    ...(tenantAttribute && { tenantCalls: gate.tenantCalls }),
    states: () => plane.view(GLOBAL),
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
    });
  if (fleet !== undefined) opened.push(fleet);

  let closing: Promise<void> | undefined;
  const handler = createApp({
    config: resolved,
    plane,
    trail,
    authenticator,
    tokens,
    record: async (draft) => {
      await trail.record(draft, (audit) => store.commit({ audit, now: clock.now() }));
    },
    measurements,
    instruments,
    isolation,
    fleet,
    checkStore: async () => {
      await store.check();
      if (plane.lost) throw new Error('the store has lost changes that it had acknowledged');
    },
    closing: () => closing !== undefined,
    clock,
    randomUUID,
    report,
  });

  void plane.start();
  fleet?.start();

  return {
    category: (name, options) => gate.category(name, options),
    runWithTenant: (tenantId, fn) => gate.runWithTenant(tenantId, fn),
    listen: async () => {
      if (listener === undefined) throw invalid('server', 'is false: mount callback() instead of listening');
      if (closing !== undefined) throw new RdcpError('RDCP_UNAVAILABLE', 'The remote control is closed');
      return listener.listen();
    },
    callback: () => handler,
    setEnabled: (enabled) => plane.setEnabled(enabled),
    close: () => {
      closing ??= closeInOrder([listener, fleet, plane, trail, measurements, instruments, authenticator, store]);
      return closing;
    },
  };
}

interface Closable {
  close(): void | Promise<void>;
}

/** Closes one part after the other, also behind one that fails or hangs. */
async function closeInOrder(parts: readonly (Closable | undefined)[]): Promise<void> {
  for (const part of parts) {
    await withDeadline((async () => part?.close())().catch(report), CLOSE_DEADLINE_MS);
  }
}

function invalid(field: string, problem: string): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `configuration: ${field} ${problem}`, { details: { field } });
}

/**
 * To OpenTelemetry's own diagnostics. Of our errors the code tells enough; of any other the stack is needed. Both may name
 * a file, which helps the service's owner. What would quote a credential is never made the cause of an error.
 */
function report(error: unknown): void {
  if (!isRdcpError(error)) diagnostics.error('rdcp: internal error', error);
  else
    diagnostics.error(
      `rdcp: ${error.code}: ${error.message}`,
      ...(error.cause instanceof Error ? [error.cause.message] : []),
    );
}
