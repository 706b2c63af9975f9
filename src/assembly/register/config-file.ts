import { isSet } from '../../otel/environment.ts';
import { asOwnWork } from '../../otel/own-work.ts';
import type { Reporter } from '../../otel/report/reporter.ts';
import { failureCode } from '../../wire/errors.ts';
import type { Environment } from './environment.ts';
import { loadPackage, loadPackageOf } from './otel-packages.ts';
import type { StartedSdk } from './sdk.ts';

const SDK = '@opentelemetry/sdk-node';
type Sdk = typeof import('@opentelemetry/sdk-node');

/** OpenTelemetry's declarative configuration, as far as it is about this process. */
export interface ConfigFile {
  /** Whether the file disables the SDK, as `OTEL_SDK_DISABLED` does. */
  readonly disabled: boolean;
  /** The options of the remote control: `rdcp` in `instrumentation/development: js`. @default none */
  readonly options?: unknown;
  /** Starts the SDK that the file describes. */
  start(): StartedSdk;
}

/**
 * Reads the file of `OTEL_CONFIG_FILE`, by which the SDK then starts; OpenTelemetry's other variables do not count. One line
 * says that the file is unusable, or that the installed SDK does not support it.
 * @param attaches whether another SDK is there: then the file counts for the options of the remote control alone
 * @returns `undefined` if the variables count
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if the SDK is missing, unless there is another
 */
export function readConfigFile(env: Environment, attaches: boolean, reporter: Reporter): ConfigFile | undefined {
  const path = env.OTEL_CONFIG_FILE;
  if (!isSet(path)) return undefined;
  // Beside another SDK it is not loaded: what that SDK instruments would be loaded too early.
  const { startNodeSDK }: Partial<Sdk> = attaches ? {} : loadPackage(SDK);
  const parser = attaches || startNodeSDK !== undefined ? loadParser() : undefined;
  if (parser === undefined) {
    if (!attaches) reporter.warn(`OTEL_CONFIG_FILE is not supported by the installed ${SDK}, and ignored`);
    return undefined;
  }
  const started = (shutdown: StartedSdk['shutdown'] = async () => {}) => ({ shutdown, serveMetrics: () => undefined });
  try {
    const parsed = parser.parseConfigFile(path);
    return {
      disabled: parsed.disabled === true,
      options: parsed['instrumentation/development']?.js?.rdcp,
      start: () => started(asOwnWork(() => startNodeSDK?.())?.shutdown),
    };
  } catch (cause) {
    const problem =
      failureCode(cause) === '' ? `cannot be used: ${String(cause)}` : `cannot be read${failureCode(cause)}`;
    const lost = attaches ? 'no options are taken from it' : 'no OpenTelemetry SDK is started';
    reporter.error(`OTEL_CONFIG_FILE: ${path} ${problem}; ${lost}`);
    return { disabled: false, start: () => started() };
  }
}

interface Parser {
  parseConfigFile(path: string): {
    readonly disabled?: boolean | null;
    readonly 'instrumentation/development'?: { readonly js?: { readonly rdcp?: unknown } };
  };
}

/** OpenTelemetry's parser, which fills in variables; `undefined` if the SDK is missing, or too old to have it. */
function loadParser(): Parser | undefined {
  try {
    return loadPackageOf(SDK, '@opentelemetry/configuration');
  } catch {
    return undefined;
  }
}
