import { closest, distance } from 'fastest-levenshtein';
import { hasCredentials } from '../../access/configured.ts';
import { secretKeyRecord } from '../../access/dev-key.ts';
import { parseConfig } from '../../options/config.ts';
import { faultPlace } from '../../options/json-fault.ts';
import type { RdcpConfig } from '../../options/options.ts';
import { isSet } from '../../otel/environment.ts';
import { asOwnWork } from '../../otel/own-work.ts';
import type { Reporter } from '../../otel/report/reporter.ts';
import { failureCode, isRdcpError, RdcpError } from '../../wire/errors.ts';
import { loadPackage, loadPackageOf } from './otel-packages.ts';
import type { StartedSdk } from './sdk.ts';

/** Environment variables, as in `process.env`. An empty one counts as unset, as in OpenTelemetry. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the text of a file; throws if it cannot be read. */
export type ReadFile = (path: string) => string;

/**
 * Reads the configuration from the environment: the JSON file of `RDCP_CONFIG`, or what the file of `OTEL_CONFIG_FILE` declares,
 * overridden by `RDCP_HOST`, `RDCP_PORT`, `RDCP_STORE`, `RDCP_RECORD` (`recorder.categories`, with commas between them),
 * `RDCP_SERVER_API_KEY` (one key with every scope; only its hash is kept) and `RDCP_API_KEYS_FILE`.
 * @param warn takes a message about a variable that has another name now
 * @param declared the options in the file of `OTEL_CONFIG_FILE`
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message is one line that starts with the variable
 */
export function configFromEnvironment(
  env: Environment,
  readFile: ReadFile,
  warn: (message: string) => void = () => {},
  declared?: unknown,
): RdcpConfig {
  const file = fromFile(env, readFile, declared);
  const server = fromServerVariables(env, file);
  const store = setting(env, 'RDCP_STORE');
  const apiKeys = fromKeyVariables(env, file, readFile, warn);
  return {
    ...file,
    ...(server === undefined ? {} : { server }),
    ...(store === undefined ? {} : checked('RDCP_STORE', { store })),
    ...recorderOf(env, file),
    ...(apiKeys === undefined ? {} : { security: { ...file.security, apiKeys } }),
  };
}

/** Every variable of this package, including those that only the `rdcp` command reads. */
export const KNOWN = [
  'RDCP_CONFIG',
  'RDCP_HOST',
  'RDCP_PORT',
  'RDCP_STORE',
  'RDCP_RECORD',
  'RDCP_SERVER_API_KEY',
  'RDCP_API_KEYS_FILE',
  'RDCP_API_KEY',
  'RDCP_URL',
  'RDCP_PROFILE',
  'RDCP_SERVICES_FILE',
];

const MISTYPED_LETTERS = 3;

/** Set by `register` itself, for the processes that this one launches. */
const OWN = 'RDCP_LAUNCHED_BY';

/** One message for each unknown `RDCP_*` variable, with the name that was probably meant. */
export function unknownVariables(env: Environment): string[] {
  const unknown = Object.keys(env).filter((name) => /^RDCP_/i.test(name) && name !== OWN && !KNOWN.includes(name));
  return unknown.map((name) => {
    const nearest = closest(name.toUpperCase(), KNOWN);
    return distance(name.toUpperCase(), nearest) <= MISTYPED_LETTERS
      ? `${name} is not known; did you mean ${nearest}?`
      : `${name} is not known: known variables are ${KNOWN.join(', ')}`;
  });
}

function setting(env: Environment, variable: string): string | undefined {
  const value = env[variable];
  return value === '' ? undefined : value;
}

function fromFile(env: Environment, readFile: ReadFile, declared: unknown): RdcpConfig {
  const variable = 'RDCP_CONFIG';
  const path = setting(env, variable);
  if (path === undefined) return declared === undefined ? {} : checked('OTEL_CONFIG_FILE', declared ?? {});
  if (declared !== undefined) throw invalid(variable, 'cannot be combined with rdcp in the file of OTEL_CONFIG_FILE');
  const text = read(variable, path, readFile).replace(/^\uFEFF/, '');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw invalid(variable, `${path} is not JSON${faultPlace(error)}`);
  }
  return checked(variable, parsed ?? {});
}

function fromServerVariables(env: Environment, file: RdcpConfig): RdcpConfig['server'] {
  const host = setting(env, 'RDCP_HOST');
  const port = setting(env, 'RDCP_PORT');
  if (host === undefined && port === undefined) return undefined;
  if (host !== undefined) checked('RDCP_HOST', { server: { host } });
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw invalid('RDCP_PORT', 'must be a number from 0 to 65535');
  if (port !== undefined) checked('RDCP_PORT', { server: { port: Number(port) } });
  return {
    ...(file.server === false ? {} : file.server),
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: Number(port) }),
  };
}

function recorderOf(env: Environment, { recorder }: RdcpConfig): Pick<RdcpConfig, 'recorder'> {
  const names = setting(env, 'RDCP_RECORD');
  if (names === undefined) return {};
  const categories = names.split(',').map((name) => name.trim());
  checked('RDCP_RECORD', { recorder: { categories } });
  return { recorder: { ...recorder, categories } };
}

type ApiKeys = NonNullable<RdcpConfig['security']>['apiKeys'];

function fromKeyVariables(
  env: Environment,
  file: RdcpConfig,
  readFile: ReadFile,
  warn: (message: string) => void,
): ApiKeys {
  const secret = setting(env, 'RDCP_SERVER_API_KEY');
  const keysFile = setting(env, 'RDCP_API_KEYS_FILE');
  if (keysFile !== undefined) {
    if (secret !== undefined) throw invalid('RDCP_SERVER_API_KEY', 'cannot be combined with RDCP_API_KEYS_FILE');
    read('RDCP_API_KEYS_FILE', keysFile, readFile);
    return { file: keysFile };
  }
  if (secret === undefined) return fromClientKey(env, file, warn);
  const configured = file.security?.apiKeys ?? [];
  if ('file' in configured)
    throw invalid('RDCP_SERVER_API_KEY', 'cannot be combined with a keys file in the configuration');
  return [...configured, secretKeyRecord(secret, 'RDCP_SERVER_API_KEY')];
}

/** `RDCP_API_KEY` is the key that the command sends. A service without another credential takes it, as it once was named. */
function fromClientKey(env: Environment, { security }: RdcpConfig, warn: (message: string) => void): ApiKeys {
  const secret = setting(env, 'RDCP_API_KEY');
  if (secret === undefined || hasCredentials(security ?? {})) return undefined;
  warn("RDCP_API_KEY is the command's key: name the service's RDCP_SERVER_API_KEY; it is used for the service as well");
  return [secretKeyRecord(secret, 'RDCP_API_KEY')];
}

/** Validates the part of the configuration that a variable sets, and returns it unchanged. */
function checked(variable: string, part: unknown): RdcpConfig {
  try {
    parseConfig(part);
    return part as RdcpConfig;
  } catch (cause) {
    if (!isRdcpError(cause)) throw cause;
    throw invalid(variable, cause.message.replace(/^configuration: /, ''), cause);
  }
}

function read(variable: string, path: string, readFile: ReadFile): string {
  try {
    return readFile(path);
  } catch (cause) {
    throw invalid(variable, `${path} cannot be read${failureCode(cause)}`, cause);
  }
}

function invalid(variable: string, problem: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `${variable}: ${problem}`, { details: { field: variable }, cause });
}

/** Variables of an application that this package and OpenTelemetry read. */
const WANTED = /^(?:RDCP_|OTEL_)|^(?:pm_id|name|namespace)$/;

/**
 * In PM2's cluster mode an application's variables are packed in `pm2_env`, which PM2 unpacks after `--import`. Sets those
 * that this package and OpenTelemetry read; PM2 sets the same values a moment later.
 */
export function takePm2Variables(env: NodeJS.ProcessEnv): void {
  if (env.pm2_env === undefined) return;
  try {
    const { env: own, ...outer }: Record<string, unknown> = JSON.parse(env.pm2_env);
    for (const [name, value] of Object.entries({ ...outer, ...(own as object | undefined) })) {
      if (WANTED.test(name)) env[name] = String(value);
    }
  } catch {
    // Not written by PM2.
  }
}

export const SDK = '@opentelemetry/sdk-node';
type Sdk = typeof import('@opentelemetry/sdk-node');

/**
 * Reads the file of `OTEL_CONFIG_FILE`, by which the SDK then starts; OpenTelemetry's other variables do not count. One line
 * says that the file is unusable, or that the installed SDK does not support it.
 * @param attaches whether another SDK is there: then the file counts for the options of the remote control alone
 * @returns `undefined` if the variables count
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if the SDK is missing, unless there is another
 */
export function readConfigFile(env: Environment, attaches: boolean, reporter: Reporter) {
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
