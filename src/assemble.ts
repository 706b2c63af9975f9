import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ProcessAdoption } from './adopt/process.ts';
import { openSigner } from './audit/signing-key-file.ts';
import { createAuditTrail } from './audit/trail.ts';
import type { AuditTrail, RecordedEntry } from './audit/types.ts';
import { openAuthentication } from './auth/configured.ts';
import { discoveryProblem } from './auth/tokens/issuer-url.ts';
import { systemClock, unrefInterval, unrefTimeout } from './clock.ts';
import type { Closable } from './closing.ts';
import type { Board } from './cluster/board.ts';
import { shareCalls } from './cluster/calls.ts';
import type { ConditionName, Conditions } from './conditions.ts';
import type { ResolvedConfig } from './config.ts';
import { createControlPlane } from './control/plane.ts';
import type { ControlPlane } from './control/types.ts';
import type { EmissionSink } from './emit/sink.ts';
import { RdcpError, storeProblem } from './errors.ts';
import { createFleet } from './fleet/fleet.ts';
import { describeInstance } from './fleet/instance.ts';
import type { Fleet } from './fleet/types.ts';
import { gate } from './gate/gate.ts';
import { createInstruments, type Instruments } from './metrics/instruments.ts';
import { createMeasurements } from './metrics/measurements.ts';
import type { Reporter } from './reporter.ts';
import { type DeferredApp, deferApp } from './server/deferred.ts';
import { createOpenStreams, type OpenStreams } from './server/open-streams.ts';
import { GLOBAL_SCOPE, type StateStore } from './store/state-store.ts';
import { deferRelay } from './tail/deferred.ts';
import type { Telemetry } from './telemetry.ts';
import { baggageTenant } from './tenancy/baggage.ts';
import type { Isolation } from './tenancy/isolation.ts';

const GLOBAL = { key: GLOBAL_SCOPE };

/** Parts that outlive a store. */
export interface Shared {
  readonly telemetry: Telemetry;
  readonly sink: EmissionSink;
  readonly isolation: Isolation;
  readonly reporter: Reporter;
  readonly conditions: Conditions;
  /** Called with every audit entry of this process. */
  readonly recorded: ((entry: RecordedEntry) => void) | undefined;
  readonly report: (error: unknown) => void;
  readonly board: () => Board | undefined;
  readonly sourceOf: ProcessAdoption['sourceOf'];
  readonly closing: () => boolean;
}

/** Parts that live as long as one store. */
export interface Assembled {
  readonly app: DeferredApp;
  /** In the order in which they are closed. */
  readonly parts: {
    readonly streams: OpenStreams;
    readonly relay: Closable;
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

/** @param opened collects the parts to close if a later one fails to start */
export function assemble(resolved: ResolvedConfig, shared: Shared, store: StateStore, opened: Closable[]): Assembled {
  const { telemetry, sink, isolation, reporter, conditions, recorded, report, board, sourceOf, closing } = shared;
  const { security, limits, controls } = resolved;
  const clock = systemClock;
  opened.push(store);
  const { tokens: tokenStore } = store;
  const { authenticator, tokens } = openAuthentication(security, {
    clock,
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
    recorded,
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

  const streams = createOpenStreams();
  const relay = deferRelay({
    gate,
    addTap: sink.addTap,
    budgetOf: sink.budgets.configured,
    messages: store.messages,
    tails: resolved.tail !== false,
    sourceOf: (name) => {
      const source = sourceOf(name);
      return source?.count === 1 ? source.name : undefined;
    },
    instanceId,
    clock,
    schedule: unrefInterval,
    random: Math.random,
    randomUUID,
  });
  opened.push(relay);

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
    hasNamed: (tenantId) => gate.hasNamed(tenantId),
    fleet,
    outputs: sink.outputs,
    sourceOf,
    relay: relay.load,
    streams,
    budgets: { ...sink.budgets, dropped: (index) => gate.droppedTotal(index) },
    checkStore: async () => {
      try {
        await store.check();
      } catch (cause) {
        throw new RdcpError('RDCP_UNAVAILABLE', storeProblem(cause), { cause });
      }
      if (plane.lost) throw new RdcpError('RDCP_UNAVAILABLE', 'the store lost changes that it had acknowledged');
    },
    closing,
    conditions,
    board,
    clock,
    randomUUID,
    report,
  });

  void plane.start();
  fleet?.start();

  return {
    app,
    parts: { streams, relay, fleet, plane, trail, calls, measurements, instruments, authenticator, store },
  };
}

function holdingByName({ holding, seen }: Conditions): [ConditionName, boolean][] {
  const names = new Set(holding.map(({ name }) => name));
  return [...seen].map((name) => [name, names.has(name)]);
}
