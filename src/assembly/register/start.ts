import { hasCredentials } from '../../access/configured.ts';
import { findDevKey } from '../../access/dev-key.ts';
import type { AcceptedTickets } from '../../access/tickets/reader.ts';
import { adoptOptions } from '../../adopt/options.ts';
import { LogExports } from '../../calls/emit/log-exports.ts';
import type { Listening } from '../../control/cluster/following.ts';
import { markLauncher, watchLaunches } from '../../control/cluster/role.ts';
import type { RdcpConfig } from '../../options/options.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { markOwnWork } from '../../otel/own-work.ts';
import { createReporter, problemOf } from '../../otel/report/reporter.ts';
import { registeredProviders } from '../../otel/telemetry.ts';
import { isRdcpError } from '../../wire/errors.ts';
import { afterStart } from '../../wire/time/after-start.ts';
import { withDeadline } from '../../wire/time/deadline.ts';
import { EMISSION_TEXTS } from '../../wire/words/emission.ts';
import { createRdcp, type Rdcp } from '../rdcp.ts';
import { describeRegisteredSdk, isSdkRegistered, runsApplication, willRegisterSdk } from './application.ts';
import { configFromEnvironment, type ReadFile, readConfigFile, unknownVariables } from './environment.ts';
import { type StartedSdk, startSdk } from './sdk.ts';

const reporter = createReporter();

/**
 * Starts the remote control as configured by the environment, and the OpenTelemetry SDK with its Prometheus endpoint unless an
 * SDK is registered. Does nothing with `OTEL_SDK_DISABLED=true` or `disabled: true` in the file of `OTEL_CONFIG_FILE`, or in a process that runs no application, such as npm. If
 * the configuration is invalid or a package is missing, the process exits before the application runs, with code 1 and one
 * line on stderr.
 */
export function startFromEnvironment(env: NodeJS.ProcessEnv, readFile: ReadFile): void {
  if (!runsApplication({ program: process.argv[1], execArgv: process.execArgv, env })) return;
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return;
  try {
    start(env, readFile);
  } catch (error) {
    if (!isRdcpError(error)) throw error;
    reporter.error(error.message);
    process.exit(1);
  }
}

function start(env: NodeJS.ProcessEnv, readFile: ReadFile): void {
  markLauncher(env);
  watchLaunches();
  for (const line of unknownVariables(env)) reporter.warn(line);
  const isEarly = !isSdkRegistered() && willRegisterSdk(process.execArgv, env);
  const attaches = isEarly || isSdkRegistered();
  const configured = readConfigFile(env, attaches, reporter);
  if (!attaches && configured?.disabled === true) return;
  const given = configFromEnvironment(env, readFile, reporter.warn, configured?.options);
  const adopt = adoptOptions(given.adopt, true);
  const config: RdcpConfig = { ...given, adopt };
  // The SDK may open its Prometheus endpoint when it starts.
  if (adopt.channels === true) markOwnWork();
  const logExports = new LogExports();
  let tickets: AcceptedTickets | undefined;
  const isTicket = (value: string) => tickets?.reader.isValid(value) === true;
  const sdk = attaches
    ? undefined
    : (configured?.start() ??
      startSdk(env, {
        logs: ['otel', 'both'].includes(String(config.emit?.to)),
        gateLogs: adopt.otel === true,
        isTicket: config.security?.tickets?.sampleTraces === true ? isTicket : undefined,
        allowedHosts: (config.server !== false && config.server?.allowedHosts) || [],
        exports: logExports,
        warn: reporter.warn,
      }));
  const rdcp = createRdcp(config, {
    logExports,
    ticketsOpened: (opened) => {
      tickets = opened;
    },
  });
  const devKey = hasCredentials(config.security ?? {}) ? undefined : findDevKey();
  if (isEarly) {
    reporter.warn(
      '@opentelemetry/auto-instrumentations-node/register instruments only modules loaded after it: put it before opentelemetry-instrumentation-rdcp/register',
    );
  }
  let ended = false;
  const close = () => {
    ended = true;
    return rdcp.close();
  };
  flushAtTheEnd({ sdk, close });
  afterStart(() => {
    if (!ended) void open(config, rdcp, sdk, devKey?.file);
  });
}

/** Opens both endpoints. Prints one line about everything that started, and an error for each endpoint that did not. */
async function open(
  config: RdcpConfig,
  rdcp: Rdcp,
  sdk: StartedSdk | undefined,
  devKeyFile: string | undefined,
): Promise<void> {
  const [endpoint, metrics] = await Promise.allSettled([
    config.server === false ? undefined : rdcp.listen(),
    sdk?.serveMetrics(),
  ]);
  const parts: string[] = [];
  // In a cluster one process says both addresses, although another one may have opened the second.
  const isSaid = isShared(config.server === false ? metrics : endpoint);
  if (!isSaid && endpoint.status === 'fulfilled' && endpoint.value !== undefined) {
    parts.push(`remote control on ${endpoint.value.url}`);
    if (devKeyFile !== undefined) parts.push(`its key in ${devKeyFile}`);
  }
  if (!isSaid && metrics.status === 'fulfilled' && metrics.value !== undefined) {
    parts.push(`metrics on ${metrics.value.url}`);
  }
  if (sdk === undefined) parts.push(`attached to ${describeRegisteredSdk()}`);
  if (parts.length > 0) reporter.info(`${parts.join(', ')} and debug lines ${EMISSION_TEXTS[rdcp.emission.to]}`);
  if (endpoint.status === 'rejected') {
    diagnostics.error('rdcp: the endpoint did not start', endpoint.reason);
    reporter.error(`the endpoint did not start: ${problemOf(endpoint.reason)}`);
  }
  if (metrics.status === 'rejected') {
    reporter.error(`the metrics endpoint did not start: ${metricsProblem(metrics.reason)}`);
  }
}

function isShared(result: PromiseSettledResult<Listening | undefined>): boolean {
  return result.status === 'fulfilled' && result.value?.shared === true;
}

function metricsProblem(error: unknown): string {
  const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;
  return inUse ? `port ${error.port} is in use: choose another by OTEL_EXPORTER_PROMETHEUS_PORT` : problemOf(error);
}

/** Longest delay of a signal's default action by closing and flushing, in milliseconds. */
const SIGNAL_DEADLINE_MS = 5000;
/** Longest time for which a process that has nothing left to do is kept alive, in milliseconds. */
const END_DEADLINE_MS = 2000;
/** Share of a deadline for closing; the rest is for exporting what closing emits. */
const CLOSE_SHARE = 0.6;

/**
 * Flushes the audit trail and the telemetry when the process exits, or gets SIGTERM or SIGINT. If the application handles the
 * signal, it decides when to exit, and telemetry works until then. Otherwise the signal is raised again after the flush, so
 * that the process ends as it would without this package.
 */
function flushAtTheEnd({
  sdk,
  close,
}: {
  readonly sdk: Pick<StartedSdk, 'shutdown'> | undefined;
  close(): Promise<void>;
}): void {
  const collectAndClose = async () => {
    // Closing removes our instruments, so collect their last values first.
    const collected = flush(registeredProviders().metrics);
    await close();
    await collected;
  };
  // The SDK stops last: closing emits audit records.
  const stop = () => (sdk === undefined ? flushProviders() : sdk.shutdown());
  const closeWithin = (milliseconds: number) => withDeadline(collectAndClose(), CLOSE_SHARE * milliseconds);
  const endWithin = async (milliseconds: number) => {
    let closed = false;
    const end = async () => {
      closed = await closeWithin(milliseconds);
      await stop();
    };
    return (await withDeadline(end(), milliseconds)) && closed;
  };
  process.once('beforeExit', async () => {
    const listeners = process.listenerCount('beforeExit');
    const done = await endWithin(END_DEADLINE_MS);
    // An unfinished export would keep the process alive, and so may work that a listener of the application has started.
    if (!done && listeners === 0) process.exit();
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // `once` removes this listener before it runs. Other libraries that count listeners, to raise the signal again when
    // theirs is the only one, then count correctly, and a second signal ends a process that hangs.
    process.once(signal, () => {
      if (process.listenerCount(signal) > 0) void closeWithin(SIGNAL_DEADLINE_MS).then(flushProviders);
      else void endWithin(SIGNAL_DEADLINE_MS).then(() => process.kill(process.pid, signal));
    });
  }
}

/** Flushes the providers, because `NodeSDK` has no flush. */
async function flushProviders(): Promise<void> {
  await Promise.all(Object.values(registeredProviders()).map(flush));
}

async function flush(provider: unknown): Promise<void> {
  await (provider as { forceFlush?(): Promise<void> } | undefined)?.forceFlush?.().catch(() => undefined);
}
