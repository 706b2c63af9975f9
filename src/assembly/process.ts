import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type AcceptedTickets, type OpenTicketsOptions, openTickets } from '../access/tickets/reader.ts';
import { MAX_TICKETS, TicketActivations } from '../access/tickets/ticket-activations.ts';
import { processAdoption } from '../adopt/process.ts';
import { budgetsOf } from '../calls/emit/budgets.ts';
import type { LogExports } from '../calls/emit/log-exports.ts';
import { createSink, type EmissionSink } from '../calls/emit/sink.ts';
import { createInstruments } from '../calls/metrics/instruments.ts';
import { createMeasurements } from '../calls/metrics/measurements.ts';
import { WorkFollower } from '../calls/work/match.ts';
import { followCluster } from '../control/cluster/following.ts';
import { describeInstance } from '../control/fleet/fleet.ts';
import { createIsolation } from '../control/tenancy/isolation.ts';
import { deferListener, Entrance } from '../endpoint/deferred.ts';
import type { HandshakeRefusal } from '../endpoint/tls/tls.ts';
import { gate as processGate } from '../gate/gate.ts';
import type { Gate } from '../gate/types.ts';
import type { ResolvedConfig } from '../options/config.ts';
import { applicationPackage } from '../otel/loading/package.ts';
import { createConditions } from '../otel/report/conditions.ts';
import { createFaultReporter, createReporter, type Reporter, type ReportFault } from '../otel/report/reporter.ts';
import { resourceAttribute, type Telemetry } from '../otel/telemetry.ts';
import { createNotifier } from '../trail/notify/notifier.ts';
import type { AuditDraft, AuditTrail } from '../trail/types.ts';
import { isRdcpError, RdcpError } from '../wire/errors.ts';
import { given } from '../wire/json-text.ts';
import { createRedaction } from '../wire/redaction.ts';
import { type Clock, type Delay, guardedTimers, systemClock } from '../wire/time/clock.ts';
import { type Closable, diagnose } from './closing.ts';

/** The parts that belong to the process: they outlive a change of the store. */
export type ProcessParts = ReturnType<typeof openProcess>;

/** The members of an entry about no category, made by no identity. */
const OF_NOBODY = { categories: [], changes: [], identity: {} } as const;

/**
 * The audit entry for a credential source that fails or recovers.
 * @param problem absent on recovery
 * @param message the same message as in the log
 */
function credentialsDraft(problem: string | undefined, message: string): AuditDraft {
  const outcome = problem === undefined ? 'success' : 'failed';
  return { ...OF_NOBODY, action: 'credentials.reload', outcome, reason: message };
}

/** The audit entry for a client certificate that TLS refused. No request follows that would write one. */
function handshakeDraft({ reason, address }: HandshakeRefusal): AuditDraft {
  return {
    ...OF_NOBODY,
    action: 'authenticate',
    outcome: 'denied',
    reason,
    ...(address !== undefined && { source: { address } }),
    error: reason === 'certificate_missing' ? 'RDCP_AUTH_REQUIRED' : 'RDCP_AUTH_FAILED',
  };
}

/** The audit entry for tickets that were refused. They become one a minute, with their number. */
const REFUSED_TICKETS: AuditDraft = {
  ...OF_NOBODY,
  action: 'authenticate',
  outcome: 'denied',
  reason: 'invalid_ticket',
  error: 'RDCP_AUTH_FAILED',
};
const ALL_PLACES_TAKEN = new RdcpError(
  'RDCP_TEMPORARY_LIMIT',
  `${MAX_TICKETS} tickets of other services are in use, the most at a time, and further ones switch nothing on`,
);

export interface OpenTelemetryParts {
  readonly telemetry: Telemetry;
  /** `undefined` if the exports of the SDK are not watched. */
  readonly logExports: LogExports | undefined;
}

/** What decides and counts debug calls, and what time it is. */
interface Surroundings {
  readonly gate: Gate;
  readonly clock: Clock;
}

/**
 * @param opened collects the parts to close if a later one fails to start
 * @param surroundings by default those of this process
 */
export function openProcess(
  config: ResolvedConfig,
  { telemetry, logExports }: OpenTelemetryParts,
  opened: Closable[],
  { gate, clock }: Surroundings = { gate: processGate, clock: systemClock },
) {
  const facts = {
    id: randomUUID(),
    host: hostname(),
    pid: process.pid,
    startedAt: clock.now(),
    env: process.env,
  };
  const resource = (name: string) => resourceAttribute(name, process.env);
  /** Its id in telemetry: that of the resource, where it has one, so that its records and series can be joined. */
  const instanceId = () => resource('service.instance.id') ?? facts.id;
  const instance = () =>
    describeInstance({ ...facts, resource, packageName: () => applicationPackage(process.argv[1], process.env) });
  const reporter = createReporter(config.logger);
  const report = (error: unknown) => {
    if (isRdcpError(error) && error.code === 'RDCP_AUDIT_WRITE_FAILED') reporter.error(error.message);
    else diagnose(error);
  };
  const reportFault = createFaultReporter(reporter, clock);
  const fault: ReportFault = (error, place) => {
    diagnose(error);
    reportFault(error, place);
  };
  const { schedule, delay } = guardedTimers((error) => fault(error, 'a timer'));
  const isolation = createIsolation(config.tenancy);
  const cluster = followCluster({ failed: (problem) => warnNotShared(config, reporter, problem), delay });
  opened.push(cluster);

  const { tenantAttribute, rateWindowSeconds } = config.metrics;
  const measurements = createMeasurements({
    gate,
    clock,
    windowSeconds: rateWindowSeconds,
    schedule,
  });
  opened.push(measurements);
  const instruments = createInstruments({
    telemetry,
    gate,
    measurements,
    ...(tenantAttribute && { tenantCalls: gate.tenantCalls }),
    schedule,
  });
  opened.push(instruments);

  let inUse: AuditTrail | undefined;
  /** The trail of the state in use, for the parts of the process that write to it. */
  const trail = {
    use(trail: AuditTrail): void {
      inUse = trail;
    },
    note: (draft: AuditDraft) => inUse?.note(draft),
    refused: (draft: AuditDraft) => inUse?.refused(draft),
  };
  const conditions = createConditions({
    reporter,
    clock,
    delay,
    credentialsFailed: instruments.credentialFailure,
    credentialsChanged: (_name, problem, message) => trail.note(credentialsDraft(problem, message)),
  });
  opened.push(conditions);
  const work = new WorkFollower(gate.work, createRedaction(config.emit.redact));
  const { webhook } = config.notify;
  const notifier =
    webhook &&
    createNotifier({
      webhooks: [webhook].flat(),
      source: () => {
        const { service, version, host, pid } = instance();
        return { service, ...given({ version }), host, pid };
      },
      clock,
      delay,
      conditions,
      reporter,
      report,
      count: instruments.notification,
      traceUrl: typeof config.console === 'object' ? config.console.traceUrl : undefined,
    });
  const sink = createSink({
    telemetry,
    clock,
    to: config.emit.to,
    env: process.env,
    reporter,
    condition: conditions.watch('output'),
    logExports,
    exportCondition: conditions.watch('export'),
    delay,
    budget: budgetsOf(config.controls.budget),
    redact: config.emit.redact,
    instanceId,
    schedule,
    recorder: config.recorder,
    failed: notifier && ((failure) => notifier.failed(failure)),
    selection: { clock, instanceId: facts.id, work, random: Math.random },
  });
  opened.push(sink);
  const refused: OpenTicketsOptions['refused'] = (reason) => {
    instruments.ticketRefused(reason);
    if (reason === 'too_many') fault(ALL_PLACES_TAKEN, 'a ticket');
    else trail.refused(REFUSED_TICKETS);
  };
  const { tokens, tickets: accepted } = config.security;
  const tickets = accepted && openTickets(accepted, { conditions, refused, ownIssuer: tokens?.issuer, clock, delay });
  const ticketed = tickets && switchOnByTickets(tickets, refused, { gate, work, sink, clock, delay });
  opened.push(...[tickets, ticketed].filter((part) => part !== undefined));

  const entrance = new Entrance();
  const { server, limits } = config;
  const listener =
    server === false
      ? undefined
      : deferListener(server, entrance.handler, {
          load: () => entrance.load(),
          places: { total: limits.maxConnections, perAddress: limits.maxConnectionsPerAddress },
          conditions,
          refused: (refusal) => {
            instruments.authFailure('mtls', refusal.reason);
            trail.refused(handshakeDraft(refusal));
          },
          production: process.env.NODE_ENV === 'production',
        });
  return {
    config,
    gate,
    telemetry,
    instance,
    instanceId,
    reporter,
    report,
    fault,
    time: { clock, schedule, delay },
    isolation,
    cluster,
    measurements,
    instruments,
    trail,
    conditions,
    sink,
    tickets,
    work,
    notifier,
    adoption: processAdoption(processGate),
    entrance,
    listener,
    /** In the order in which they are closed, after the state. */
    closables: [ticketed, measurements, instruments, cluster, sink, notifier, tickets],
  };
}

function switchOnByTickets(
  { reader }: AcceptedTickets,
  refused: OpenTicketsOptions['refused'],
  {
    gate,
    work,
    sink,
    clock,
    delay,
  }: {
    readonly gate: Gate;
    readonly work: WorkFollower;
    readonly sink: EmissionSink;
    readonly clock: Clock;
    readonly delay: Delay;
  },
): Closable {
  const activations = new TicketActivations({
    reader,
    refused,
    categories: () => gate.categories(),
    activate: sink.activate,
    clock,
    delay,
  });
  const unfollow = work.followTickets((ticket) => activations.activate(ticket));
  return {
    close() {
      unfollow();
      activations.close();
    },
  };
}

/** Warns at the start; otherwise it would be unclear why a change reaches only one worker. */
export function warnNotShared({ store }: ResolvedConfig, reporter: Reporter, problem: string): void {
  reporter.warn(
    store === 'memory:'
      ? `the processes of this cluster share no state (${problem}): set store to sqlite:FILE, redis://… or postgres://…`
      : `each process of this cluster has its own metrics endpoint, and reports every change (${problem})`,
  );
}
