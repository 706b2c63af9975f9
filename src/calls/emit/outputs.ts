import { isPromise } from 'node:util/types';
import type { DropCode } from '../../gate/drops.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { exportVariable, isSet } from '../../otel/environment.ts';
import { asOwnWork } from '../../otel/own-work.ts';
import { type Condition, UNWATCHED } from '../../otel/report/conditions.ts';
import type { Reporter } from '../../otel/report/reporter.ts';
import { createStderrWriter, MAX_WAITING_BYTES } from '../../otel/report/stderr.ts';
import { isConnected, type Logger, type Telemetry } from '../../otel/telemetry.ts';
import type { DebugRecord } from '../../wire/debug-record.ts';
import type { Emission } from '../../wire/emission.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { type Backlog, type BacklogOptions, createBacklog } from './backlog.ts';
import { Shares } from './fairness.ts';
import type { ExportedRecord, LogExports } from './log-exports.ts';
import { otelOutput } from './otel.ts';
import { type Call, jsonLine, type Output, recordOf, recordOfExported, textLine } from './record.ts';

/** The values of the option `emit.to`. */
export type EmitTo = 'otel' | 'stderr' | 'both' | 'json' | ((record: DebugRecord) => unknown);

export interface OutputOptions extends BacklogOptions {
  readonly telemetry: Telemetry;
  readonly clock: Pick<Clock, 'now'>;
  /** @default OpenTelemetry when log export is configured, otherwise stderr */
  readonly to?: EmitTo | undefined;
  /** The environment variables. @default none */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Warns once when calls go nowhere. @default no warning */
  readonly reporter?: Pick<Reporter, 'warn'>;
  /** Writes a line without its end, then calls `done`; returns `false` when it was dropped. @default writes to stderr */
  readonly writeLine?: (line: string, done?: () => void) => unknown;
  /** Bytes waiting in that output. @default those waiting for stderr */
  readonly waitingBytes?: () => number;
  /** The id of this process for its log records. @default none */
  readonly instanceId?: () => string;
  /** Results of the exports of log records. @default exports are not watched */
  readonly logExports?: Pick<LogExports, 'subscribe'> | undefined;
  /** Holds while log records cannot be exported. @default not reported */
  readonly exportCondition?: Condition;
}

export interface Outputs {
  /** The output for a call at this moment. */
  current(): Output;
  /** The same while the process ends: what an exporter would send later goes to stderr as well. */
  final(): Output;
  readonly emission: Emission;
  /** Whether calls go nowhere, because no logger provider is registered. */
  readonly lost: boolean;
  close(): void;
}

interface Choice extends Emission {
  readonly output: Output;
}

const NO_PROVIDER = 'no OpenTelemetry logger provider is registered';
const CONFIGURED = 'emit.to is configured';

/** Part of the stderr buffer reserved for this package's own messages. */
const ROOM_FOR_MESSAGES = 64 * 1024;
/** Part of it reserved for categories that have little waiting in it. */
const ROOM_FOR_QUIET = 64 * 1024;
const ROOM_FOR_LINES = MAX_WAITING_BYTES - ROOM_FOR_MESSAGES;
/** Pending promises allowed for the function of `emit.to`. */
const MAX_PENDING = 1000;

const STDERR_NOT_READ = `stderr is not read: ${MAX_WAITING_BYTES / 1024 / 1024} MiB waits for it`;
const EXPORTER_TOO_SLOW = 'the exporter of log records is too slow for the debug records';
const FUNCTION_TOO_SLOW = `the function of emit.to is too slow: ${MAX_PENDING} of its promises are pending`;

/** Chooses the output. The choice is repeated only when the current logger changes, or was not connected yet. */
export function createOutputs(options: OutputOptions): Outputs {
  const { telemetry, clock, to, env = {}, reporter, exportCondition = UNWATCHED } = options;
  const { writeLine = createStderrWriter(ROOM_FOR_LINES) } = options;
  const { waitingBytes = () => process.stderr.writableLength } = options;
  const backlog = createBacklog(options);
  const notRead = () => waitingBytes() > MAX_WAITING_BYTES / 2;
  const write = (line: string, category: string, call?: Call): DropCode | undefined => {
    const bytes = Buffer.byteLength(line) + 1;
    if (call !== undefined) call.bytes = bytes;
    return put(line, category, bytes) ? undefined : backlog.drop(STDERR_NOT_READ, notRead);
  };
  const shares = new Shares(ROOM_FOR_QUIET);
  /** Returns whether the line was written. A line that need not wait takes no share. */
  const put = (line: string, category: string, bytes: number): boolean => {
    const waiting = waitingBytes();
    if (waiting === 0) return writeLine(line) !== false;
    if (!shares.admits(category, ROOM_FOR_LINES - waiting)) return false;
    shares.take(category, bytes);
    const written = writeLine(line, () => shares.giveBack(category, bytes)) !== false;
    if (!written) shares.giveBack(category, bytes);
    return written;
  };
  const written =
    (format: (record: DebugRecord) => string): Output =>
    (call) => {
      const record = recordOf(call, clock.now());
      return write(format(record), record.category, call);
    };
  const stderr = written(textLine);
  const json = written(jsonLine);
  const variable = isSet(env.OTEL_CONFIG_FILE) ? 'OTEL_CONFIG_FILE' : exportVariable(env, 'LOGS');
  let warned = false;
  const nowhere: Output = () => {
    if (!warned) reporter?.warn(`debug lines go nowhere: emit.to is 'otel', and ${NO_PROVIDER}`);
    warned = true;
    return undefined;
  };

  function choose(logger: Logger | undefined): Choice {
    if (to === 'stderr') return { to, reason: CONFIGURED, output: stderr };
    if (to === 'json') return { to, reason: CONFIGURED, output: json };
    if (typeof to === 'function')
      return { to: 'function', reason: CONFIGURED, output: functionOutput(to, clock, backlog) };
    if (logger === undefined) {
      if (to === 'otel') return { to, reason: `${CONFIGURED}, but ${NO_PROVIDER}`, output: nowhere };
      if (to === 'both') return { to: 'stderr', reason: `${CONFIGURED}, but ${NO_PROVIDER}`, output: stderr };
      return { to: 'stderr', reason: NO_PROVIDER, output: stderr };
    }
    const otel = otelOutput(logger, options.instanceId?.(), () => backlog.drop(EXPORTER_TOO_SLOW));
    const both: Output = (call) => {
      const dropped = stderr(call);
      return otel(call) ?? dropped;
    };
    if (to !== undefined) return { to, reason: CONFIGURED, output: to === 'both' ? both : otel };
    if (failing !== undefined) return { to: 'both', reason: failing, output: both };
    if (variable !== undefined) return { to: 'otel', reason: `${variable} is set`, output: otel };
    return { to: 'otel', reason: 'the application registered a logger provider', output: otel };
  }

  /** Why log records cannot be exported. */
  let failing: string | undefined;
  /** Since when debug calls go to stderr as well, in milliseconds since the epoch. */
  let besideSince = 0;

  function exported(failed: string | undefined, records: readonly ExportedRecord[]): void {
    const hasChanged = (failed === undefined) !== (failing === undefined);
    if (hasChanged && failed !== undefined) besideSince = choice.to === 'otel' && to === undefined ? clock.now() : 0;
    failing = failed;
    // Makes the next call choose again.
    if (hasChanged) settled = undefined;
    if (failed === undefined) {
      exportCondition.end();
      return;
    }
    exportCondition.begin(failed);
    // Records from before are nowhere else.
    for (const record of records.map(recordOfExported)) {
      if (record !== undefined && Date.parse(record.timestamp) <= besideSince) write(textLine(record), record.category);
    }
  }

  const independent = to !== undefined && to !== 'otel' && to !== 'both';
  const unsubscribe = independent ? undefined : options.logExports?.subscribe(exported);
  const unconnected = choose(undefined);
  let settled: Logger | undefined;
  let choice = unconnected;
  const current = (): Choice => {
    if (independent) return unconnected;
    const { logger } = telemetry;
    if (logger === settled) return choice;
    if (!isConnected(logger)) return unconnected;
    choice = choose(logger);
    settled = logger;
    return choice;
  };
  /** The choice for reports: a provider that throws counts as no output and fails no request. */
  const shown = (): Choice => {
    try {
      return current();
    } catch {
      return unconnected;
    }
  };
  return {
    current: () => current().output,
    final() {
      const { to: target, output } = current();
      if (target !== 'otel') return output;
      return (call) => {
        stderr(call);
        return output(call);
      };
    },
    get emission() {
      const { to: target, reason } = shown();
      return { to: target, reason };
    },
    get lost() {
      return shown().output === nowhere;
    },
    close() {
      unsubscribe?.();
      backlog.close();
    },
  };
}

function functionOutput(take: (record: DebugRecord) => unknown, clock: Pick<Clock, 'now'>, backlog: Backlog): Output {
  let pending = 0;
  let reported = false;
  const tooSlow = () => pending > MAX_PENDING / 2;
  const fulfilled = () => {
    pending -= 1;
  };
  const rejected = (error: unknown) => {
    pending -= 1;
    if (!reported) diagnostics.error('rdcp: the function of emit.to rejected', error);
    reported = true;
  };
  return (call) => {
    if (pending >= MAX_PENDING) return backlog.drop(FUNCTION_TOO_SLOW, tooSlow);
    // A request that it makes is no request of the application.
    const result = asOwnWork(() => take(recordOf(call, clock.now())));
    if (isPromise(result)) {
      pending += 1;
      Promise.prototype.then.call(result, fulfilled, rejected);
    }
    return undefined;
  };
}
