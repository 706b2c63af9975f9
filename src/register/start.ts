import { adoptOptions } from '../adopt/options.ts';
import { afterStart } from '../after-start.ts';
import type { Listening } from '../cluster/listening.ts';
import { configFromEnvironment, type ReadFile, unknownVariables } from '../environment.ts';
import { isRdcpError } from '../errors.ts';
import { RdcpInstrumentation } from '../instrumentation.ts';
import type { RdcpConfig } from '../options.ts';
import { EMISSION_TEXTS, type Emission } from '../protocol/emission.ts';
import { createReporter } from '../reporter.ts';
import { runsApplication } from './application.ts';
import { describeRegisteredSdk, isSdkRegistered, willRegisterSdk } from './registered-sdk.ts';
import { startSdk } from './sdk.ts';
import { flushAtTheEnd } from './shutdown.ts';

/** File with the key of a service without configured credentials. */
const DEV_KEY_FILE = '.rdcp/dev-key';
const CREDENTIALS = ['apiKeys', 'jwt', 'introspection', 'mtls'];

const reporter = createReporter();

/**
 * Starts the remote control as configured by the environment, and the OpenTelemetry SDK with its Prometheus endpoint unless an
 * SDK is registered. Does nothing with `OTEL_SDK_DISABLED=true`, or in a process that runs no application, such as npm. If
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
  for (const line of unknownVariables(env)) reporter.warn(line);
  const given = configFromEnvironment(env, readFile);
  const adopt = adoptOptions(given.adopt, true);
  const config: RdcpConfig = { ...given, adopt };
  const instrument = () => new AnnouncedInstrumentation(config);
  const isEarly = !isSdkRegistered() && willRegisterSdk(process.execArgv, env);
  const attaches = isEarly || isSdkRegistered();
  const { instrumentation, sdk, serveMetrics }: Telemetered = attaches
    ? { instrumentation: instrument() }
    : startSdk(env, instrument, {
        logs: ['otel', 'both'].includes(String(config.emit?.to)),
        gateLogs: adopt.otel === true,
        allowedHosts: (config.server !== false && config.server?.allowedHosts) || [],
      });
  if (isEarly) {
    reporter.warn(
      '@opentelemetry/auto-instrumentations-node/register instruments only modules loaded after it: put it before opentelemetry-instrumentation-rdcp/register',
    );
  }
  flushAtTheEnd({ sdk, instrumentation });
  // By then the instrumentation has started to listen, unless the process is exiting.
  afterStart(() => {
    if (!instrumentation.isEnabled()) return;
    void announce({
      endpoint: config.server === false ? undefined : instrumentation.listen(),
      metrics: serveMetrics?.(),
      attaches,
      emission: instrumentation.rdcp.emission,
      development: usesDevelopmentKey(config),
    });
  });
}

/** Suppresses the instrumentation's own start message, which `announce` below includes. */
class AnnouncedInstrumentation extends RdcpInstrumentation {
  protected override announce(): void {}
}

interface Telemetered {
  readonly instrumentation: RdcpInstrumentation;
  readonly sdk?: { shutdown(): Promise<void> };
  serveMetrics?(): Promise<Listening> | undefined;
}

interface Started {
  readonly endpoint: Promise<Listening> | undefined;
  readonly metrics: Promise<Listening> | undefined;
  readonly attaches: boolean;
  readonly emission: Emission;
  readonly development: boolean;
}

/** Prints one line about everything that started, and an error for the metrics endpoint if it failed. */
async function announce(started: Started): Promise<void> {
  const [endpoint, metrics] = await Promise.allSettled([started.endpoint, started.metrics]);
  const parts: string[] = [];
  if (isNews(endpoint)) {
    parts.push(`remote control on ${endpoint.value.url}`);
    if (started.development) parts.push(`its key in ${DEV_KEY_FILE}`);
  }
  if (isNews(metrics)) parts.push(`metrics on ${metrics.value.url}`);
  if (started.attaches) parts.push(`attached to ${describeRegisteredSdk()}`);
  if (parts.length > 0) {
    reporter.info(`${parts.join(', ')} and debug lines ${EMISSION_TEXTS[started.emission.to]}`);
  }
  if (metrics.status === 'rejected') reporter.error(`the metrics endpoint did not start: ${problemOf(metrics.reason)}`);
}

/** False for an address that another process of the cluster has already announced. */
function isNews(result: PromiseSettledResult<Listening | undefined>): result is PromiseFulfilledResult<Listening> {
  return result.status === 'fulfilled' && result.value !== undefined && result.value.shared !== true;
}

function usesDevelopmentKey({ security = {} }: RdcpConfig): boolean {
  return CREDENTIALS.every((name) => Reflect.get(security, name) === undefined);
}

function problemOf(error: unknown): string {
  if (!(error instanceof Error && 'code' in error)) return 'internal error';
  if (error.code !== 'EADDRINUSE' || !('port' in error)) return String(error.code);
  return `port ${error.port} is in use: choose another by OTEL_EXPORTER_PROMETHEUS_PORT`;
}
