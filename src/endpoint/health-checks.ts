import { type Condition, type Conditions, UNWATCHED } from '../otel/report/conditions.ts';
import { failureCode, isRdcpError, RdcpError } from '../wire/errors.ts';
import type { HealthCheckRecord, HealthResponse } from '../wire/messages.ts';
import type { Clock } from '../wire/time/clock.ts';
import { type Timestamp, timestamp } from '../wire/time.ts';
import type { Uses } from './parts.ts';

export interface HealthCheck {
  readonly name: string;
  /** Throws or rejects on a problem. */
  readonly run: () => unknown;
  /** The effect of a failure: `warn` degrades the service, `fail` makes it unhealthy. */
  readonly onFailure: 'warn' | 'fail';
  /** Holds from a failure until the check passes. @default not watched */
  readonly condition?: Condition | undefined;
}

interface Health {
  readonly status: HealthResponse['status'];
  readonly checks: readonly HealthCheckRecord[];
}

/** Deadline of one check, in milliseconds. */
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
}): () => Promise<Health> {
  const runs = checks.map((check) => createRun(check, clock, deadlineMs));
  let running: Promise<Health> | undefined;
  let latest: { readonly health: Health; readonly at: number } | undefined;

  const runAll = async (): Promise<Health> => {
    const records = await Promise.all(runs.map((run) => run()));
    const health = { status: overall(records), checks: records };
    latest = { health, at: clock.monotonic() };
    running = undefined;
    return health;
  };

  return async () => {
    if (latest !== undefined && clock.monotonic() - latest.at < FRESH_MS) return latest.health;
    running ??= runAll();
    return running;
  };
}

/** Runs one check. A hanging check is never started again, so that hanging runs do not pile up. */
function createRun(
  { name, run, onFailure, condition = UNWATCHED }: HealthCheck,
  clock: Clock,
  deadlineMs: number,
): () => Promise<HealthCheckRecord> {
  let pending: Promise<unknown> | undefined;
  let failingSince: Timestamp | undefined;
  return async () => {
    const started = clock.monotonic();
    pending ??= (async () => run())().finally(() => {
      pending = undefined;
    });
    const reason = await failureOf(pending, deadlineMs);
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

/** Why a check fails; `undefined` when it passes. */
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

function overall(records: readonly HealthCheckRecord[]): Health['status'] {
  if (records.some(({ status }) => status === 'fail')) return 'unhealthy';
  return records.some(({ status }) => status === 'warn') ? 'degraded' : 'healthy';
}

export type HealthParts = Uses<'config' | 'checkStore' | 'fleet' | 'trail' | 'outputs' | 'conditions'>;

/**
 * A failing store or trail only degrades the service, which still works. Checks of the application decide by
 * themselves.
 */
export function healthChecks({ config, checkStore, fleet, trail, outputs, conditions }: HealthParts): HealthCheck[] {
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
    ...(config.notify.webhook === undefined
      ? []
      : [{ name: 'notify', run: none(({ name }) => name === 'notify'), onFailure: 'warn' as const }]),
    ...Object.entries(config.health).map(([name, run]) => ({ name, run, onFailure: 'fail' as const })),
  ];
}

function unwell(reason: string): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', reason);
}
