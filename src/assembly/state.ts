import { randomUUID } from 'node:crypto';
import { openAuthentication } from '../access/configured.ts';
import { discoveryProblem } from '../access/tokens/service.ts';
import { announcedCalls } from '../calls/metrics/called.ts';
import { CallHistory, HISTORY_STEP_MS } from '../calls/metrics/history.ts';
import { addCalls } from '../calls/metrics/shared.ts';
import { Relay } from '../calls/tail/relay.ts';
import { MeasuredAlerts } from '../control/alerts/measured.ts';
import { Approvals } from '../control/approvals.ts';
import { Choosing } from '../control/fleet/choosing.ts';
import { createFleet } from '../control/fleet/fleet.ts';
import { ControlPlane } from '../control/plane.ts';
import { DocumentFollower, documentControls, Newest } from '../control/pull/follower.ts';
import { fileSource, type Source } from '../control/pull/source.ts';
import type { CategoryView } from '../control/types.ts';
import type { EndpointParts } from '../endpoint/parts.ts';
import { OpenStreams } from '../endpoint/streams/open-streams.ts';
import type { ResolvedConfig } from '../options/config.ts';
import { loadOwn, withoutTracing } from '../otel/own-work.ts';
import type { ConditionName, Conditions } from '../otel/report/conditions.ts';
import { createFleetStore } from '../store/fleet.ts';
import { GLOBAL_SCOPE, type StateStore } from '../store/state-store.ts';
import { openSigner } from '../trail/signature.ts';
import { createAuditTrail } from '../trail/trail.ts';
import { RdcpError, storeProblem } from '../wire/errors.ts';
import { NO_LINES, sumOfLines } from '../wire/member-calls.ts';
import { trustedUri } from '../wire/net/trusted-uri.ts';
import { LATEST_INSTANT } from '../wire/time.ts';
import type { Closable } from './closing.ts';
import type { ProcessParts } from './process.ts';

/** How long nothing malformed may be read until the condition ends, in milliseconds. */
const QUIET_MS = 60_000;

const GLOBAL = { key: GLOBAL_SCOPE };

/** The parts that belong to one state, and live as long as its store. */
export type State = ReturnType<typeof openState>;

/**
 * @param opened collects the parts to close if a later one fails to start
 * @param chainId of the audit trail; a chain is never continued in another store
 */
export function openState(host: ProcessParts, store: StateStore, opened: Closable[], chainId = host.instance().id) {
  const { config, gate, telemetry, reporter, report, fault, isolation, cluster, instruments, conditions, sink } = host;
  const { security, limits, controls } = config;
  const { clock, schedule, delay } = host.time;
  opened.push(store);
  const { authenticator, tokens, ownKeys } = openAuthentication(security, {
    clock,
    conditions,
    report,
    tokenStore: store.records,
    tenancy: config.tenancy !== false,
  });
  opened.push(authenticator);
  if (ownKeys !== undefined) host.tickets?.useOwnKeys(ownKeys);
  const problem = security.tokens && discoveryProblem(security.tokens.issuer);
  if (problem !== undefined) reporter.warn(problem);
  const { id: instanceId } = host.instance();
  const outage = conditions.watch('store');

  const malformed = reportMalformed(host);
  store.onMalformed?.(malformed);

  const trail = createAuditTrail({
    store,
    telemetry,
    clock,
    schedule,
    chain: {
      securityLevel: security.level,
      instanceId: chainId,
      retentionDays: config.audit.retentionDays,
    },
    randomUUID,
    instanceId: host.instanceId,
    sign: config.audit.signingKeyFile === undefined ? undefined : openSigner(config.audit.signingKeyFile),
    recorded: host.notifier?.recorded,
    failed: instruments.auditFailure,
    condition: conditions.watch('audit'),
    report,
  });
  opened.push(trail);
  host.trail.use(trail);
  const whileChosen: Choosing['whileChosen'] = (choice, begin) => choosing.whileChosen(choice, begin);
  const plane = new ControlPlane({
    gate,
    store,
    audit: trail,
    sink,
    clock,
    delay,
    limits: {
      defaultDuration: controls.defaultDuration,
      maxDuration: controls.maxDuration,
      maxTemporary: controls.maxTemporaryPerTenant,
      maxCategories: limits.maxCategories,
    },
    overrides: config.categories,
    budgets: sink.budgets,
    activate: sink.activate,
    recorded: config.recorder.categories,
    setRecorded: sink.setRecorded,
    whileChosen,
    ticketSigner: security.tokens && ownKeys && { ...security.tokens, current: ownKeys.current },
    securityLevel: security.level,
    isolation,
    countsTenants: isolation.separatesMetrics || config.metrics.tenantAttribute,
    outage,
    loss: conditions.watch('state_lost'),
    reporter: config.announce ? reporter : undefined,
    cluster,
    report,
  });
  opened.push(plane);
  instruments.observe({
    states: () => plane.view(GLOBAL),
    recorded: (index) => sink.recorder.countsOf(index),
    kept: () => {
      const { since, bytes } = sink.recorder.past.reach;
      return since === undefined ? undefined : { bytes, seconds: (clock.now() - since) / 1000 };
    },
    conditions: () => holdingByName(conditions),
    temporaryControls: () => {
      const global = plane.temporaryControls(GLOBAL);
      return { global, tenants: plane.temporaryControls() - global };
    },
  });

  const linesOf = ({ index }: { readonly index: number }) => ({
    ...NO_LINES,
    ...sink.recorder.countsOf(index),
    dropped: gate.droppedTotal(index),
  });
  const fleetStore = createFleetStore(store, malformed);
  const fleet =
    fleetStore &&
    createFleet({
      store: fleetStore,
      self: host.instance,
      categories: () => plane.categories(),
      calls: (most) => announcedCalls({ gate, own: host.measurements, linesOf }, most),
      controlsEnd: () => lastEnd(plane.view(GLOBAL)),
      sourceOf: (name) => host.adoption.sourceOf(name),
      malformed: () => malformed('list'),
      others: (categories) => plane.setOthers(categories),
      current: () => plane.current,
      acknowledgeTimeoutMs: config.fleet.acknowledgeTimeoutSeconds * 1000,
      clock,
      schedule,
      delay,
      random: Math.random,
      outage,
    });
  if (fleet !== undefined) opened.push(fleet);

  const choosing = new Choosing({ self: host.instance, fleet, schedule });
  opened.push(choosing);

  const streams = new OpenStreams();
  const relay = new Relay({
    gate,
    addTap: sink.addTap,
    recorder: sink.recorder,
    past: sink.recorder.past,
    service: () => host.instance().service,
    work: host.work,
    budgetOf: sink.budgets.configured,
    messages: store.messages,
    tails: config.tail !== false,
    malformed: () => malformed('message'),
    sourceOf: (name) => {
      const source = host.adoption.sourceOf(name);
      return source?.count === 1 ? source.name : undefined;
    },
    instanceId,
    ...(fleet && { takesPart: fleet.has }),
    whileChosen,
    clock,
    schedule,
    random: Math.random,
    randomUUID,
  });
  opened.push(relay);

  const alerts = new MeasuredAlerts({
    rules: config.alerts,
    group: store.shared ? 'measured' : instanceId,
    plane,
    trail,
    fleet,
    isolation,
    works: host.work.outcomes,
    host: process,
    clock,
    schedule,
    report,
  });
  opened.push(alerts);

  const pulled = followDocument(host, { plane, relay });
  if (pulled !== undefined) opened.push(pulled);

  const measurements = addCalls(host.measurements, fleet?.calls);
  const history = new CallHistory({
    counted: () => plane.view(GLOBAL).map((view) => [view.name, measurements.countedSoFar(view)]),
    clock,
  });
  const sample = async () => {
    await fleet?.sample();
    history.sample();
  };
  const sampling = { close: schedule(HISTORY_STEP_MS, sample) };
  opened.push(sampling);

  const approvals = new Approvals({ store, trail, clock, randomUUID });
  const checkStore = async () => {
    try {
      await store.check();
    } catch (cause) {
      throw new RdcpError('RDCP_UNAVAILABLE', storeProblem(cause), { cause });
    }
    if (plane.lost) throw new RdcpError('RDCP_UNAVAILABLE', 'the store lost changes that it had acknowledged');
  };
  const parts: EndpointParts = {
    ...host.time,
    config,
    plane,
    trail,
    approvals,
    authenticator,
    tokens,
    fleet,
    choosing,
    relay,
    streams,
    checkStore,
    sourceOf: (category) => host.adoption.sourceOf(category),
    hasNamed: (tenantId) => gate.hasNamed(tenantId),
    namedTenants: gate.namedTenants,
    budgets: {
      ...sink.budgets,
      linesOf: ({ index, name }) =>
        sumOfLines(index === undefined ? NO_LINES : linesOf({ index }), fleet?.calls.linesOf(name) ?? NO_LINES),
      unevaluated: (index) => sink.unevaluated(index),
    },
    recorded: () => new Map(gate.categories().map(({ name }) => [name, sink.recorder.isRecorded(name)])),
    reach: () => sink.recorder.past.reach,
    outputs: sink.outputs,
    measurements,
    history,
    service: () => host.instance().service,
    instruments,
    isolation,
    conditions,
    shared: () => cluster.folder,
    notifications: () => host.notifier?.receivers ?? [],
    closing: host.entrance.closing,
    randomUUID,
    report,
    fault,
  };

  const started = plane.start();
  fleet?.start();
  void fleet?.sample();

  return {
    store,
    authenticator,
    trail,
    plane,
    fleet,
    streams,
    choosing,
    relay,
    alerts,
    sampling,
    pulled,
    parts,
    started,
  };
}

/** Wall time at which the last temporary control that writes lines ends; of tenants that the views do not list, that is not known. */
function lastEnd(views: readonly CategoryView[]): number | undefined {
  const ends = views.flatMap(({ expiresAt = 0, activations = [], tenants }) => [
    expiresAt,
    ...activations.map(({ activation }) => (activation.record ? 0 : activation.expiresAt)),
    ...(tenants?.tenants.map((each) => Date.parse(each.expiresAt ?? '') || 0) ?? []),
    tenants !== undefined && tenants.more > 0 && tenants.temporary > 0 ? LATEST_INSTANT : 0,
  ]);
  const last = ends.reduce((latest, end) => Math.max(latest, end), 0);
  return last === 0 ? undefined : last;
}

function reportMalformed({ conditions, instruments, time }: ProcessParts): (kind: string) => void {
  const condition = conditions.watch('malformed');
  let cancelEnd = () => {};
  return (kind) => {
    instruments.malformed(kind);
    condition.begin(
      kind === 'message' ? 'another process sent a malformed message' : `the store holds a malformed ${kind}`,
    );
    cancelEnd();
    cancelEnd = time.delay(QUIET_MS, condition.end);
  };
}

function holdingByName({ holding, seen }: Conditions): [ConditionName, boolean][] {
  const names = new Set(holding.map(({ name }) => name));
  return [...seen].map((name) => [name, names.has(name)]);
}

/**
 * Follows the document of `pull`. @returns `undefined` without `pull`
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an address that is not trusted
 */
function followDocument(
  { config, conditions, isolation, sink, tickets, report, time }: ProcessParts,
  { plane, relay }: { readonly plane: ControlPlane; readonly relay: Relay },
): Closable | undefined {
  const { pull, controls } = config;
  if (pull === undefined || tickets === undefined) return undefined;
  const { maxDuration } = controls;
  return new DocumentFollower({
    source: sourceOf(pull),
    newest: new Newest(pull.file === undefined ? undefined : `${pull.file}.newest`),
    everyMs: pull.every * 1000,
    rules: { ...tickets.rules, maxDuration },
    begin: documentControls({
      plane,
      check: (part) => relay.check(part),
      isolation,
      configuredRate: sink.budgets.configuredRate,
      maxDuration,
      clock: time.clock,
    }),
    ...time,
    condition: conditions.watch('pull'),
    report,
  });
}

/** The client of HTTP is loaded for an address alone. */
function sourceOf({ file, url = '' }: NonNullable<ResolvedConfig['pull']>): Source {
  if (file !== undefined) return fileSource(file);
  const trusted = trustedUri(url, 'pull.url');
  const opening = loadOwn(async () => (await import('../control/pull/address.ts')).addressSource(trusted));
  return { field: 'pull.url', read: async () => withoutTracing((await opening).read) };
}
