import type { Clock } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { failureCode, isRdcpError } from '../errors.ts';
import type { HealthCheckRecord, HealthResponse } from '../protocol/messages.ts';
import { type Timestamp, timestamp } from '../protocol/time.ts';

export interface HealthCheck {
  readonly name: string;
  /** Throws or rejects on a problem. */
  readonly run: () => unknown;
  /** The effect of a failure: `warn` degrades the service, `fail` makes it unhealthy. */
  readonly onFailure: 'warn' | 'fail';
  /** Holds from a failure until the check passes. @default not watched */
  readonly condition?: Condition | undefined;
}

export interface Health {
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
  const guarded = checks.map((check) => oneAtATime(check));
  const failingSince = new Map<HealthCheck, Timestamp>();
  let running: Promise<Health> | undefined;
  let latest: { readonly health: Health; readonly at: number } | undefined;

  const runAll = async (): Promise<Health> => {
    const records = await Promise.all(guarded.map((check) => runCheck(check, failingSince, clock, deadlineMs)));
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

/** Never starts a hanging check again, so that hanging runs do not pile up. */
function oneAtATime(check: HealthCheck): HealthCheck {
  const { run } = check;
  let pending: Promise<unknown> | undefined;
  return {
    ...check,
    run: () => {
      pending ??= Promise.resolve(run()).finally(() => {
        pending = undefined;
      });
      return pending;
    },
  };
}

async function runCheck(
  check: HealthCheck,
  failingSince: Map<HealthCheck, Timestamp>,
  clock: Clock,
  deadlineMs: number,
): Promise<HealthCheckRecord> {
  const { name, run, onFailure, condition = UNWATCHED } = check;
  const started = clock.monotonic();
  const reason = await failureOf(async () => run(), deadlineMs);
  const duration = `${Math.max(0, Math.round(clock.monotonic() - started))}ms`;
  if (reason === undefined) condition.end();
  else condition.begin(`health check ${name}: ${reason}`);
  if (reason === undefined) {
    failingSince.delete(check);
    return { name, status: 'pass', duration };
  }
  const since = failingSince.get(check) ?? timestamp(clock.now());
  failingSince.set(check, since);
  return { name, status: onFailure, duration, otelrdcp_reason: reason, otelrdcp_since: since };
}

/** Why a check fails; `undefined` when it passes. */
async function failureOf(run: () => Promise<unknown>, deadlineMs: number): Promise<string | undefined> {
  const { promise: expired, resolve: expire } = Promise.withResolvers<string>();
  const timer = setTimeout(expire, deadlineMs, `no answer within ${deadlineMs / 1000} s`).unref();
  try {
    return await Promise.race([run().then(() => undefined, reasonOf), expired]);
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
