import { secretKeyRecord } from './auth/dev-key.ts';
import { parseConfig, type RdcpConfig } from './config.ts';
import { isRdcpError, RdcpError } from './errors.ts';

/** Variables of a process, as `process.env` has them. An empty one counts as not set, as OpenTelemetry's do. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a file; throws when it cannot be read. */
export type ReadFile = (path: string) => string;

/**
 * The configuration that the environment asks for: the JSON file of `RDCP_CONFIG`, and over it `RDCP_HOST`,
 * `RDCP_PORT`, `RDCP_STORE`, `RDCP_API_KEY` (one key that holds every scope; it is hashed here and not kept) and
 * `RDCP_API_KEYS_FILE`.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, whose message is one line that begins with the variable
 */
export function configFromEnvironment(env: Environment, readFile: ReadFile): RdcpConfig {
  const file = fromFile(env, readFile);
  const server = fromServerVariables(env, file);
  const store = setting(env, 'RDCP_STORE');
  const apiKeys = fromKeyVariables(env, file, readFile);
  return {
    ...file,
    ...(server === undefined ? {} : { server }),
    ...(store === undefined ? {} : checked('RDCP_STORE', { store })),
    ...(apiKeys === undefined ? {} : { security: { ...file.security, apiKeys } }),
  };
}

function setting(env: Environment, variable: string): string | undefined {
  const value = env[variable];
  return value === '' ? undefined : value;
}

function fromFile(env: Environment, readFile: ReadFile): RdcpConfig {
  const variable = 'RDCP_CONFIG';
  const path = setting(env, variable);
  if (path === undefined) return {};
  const text = read(variable, path, readFile);
  try {
    return checked(variable, JSON.parse(text.replace(/^\uFEFF/, '')) ?? {});
  } catch (cause) {
    if (isRdcpError(cause)) throw cause;
    // Without the cause, which quotes the file.
    throw invalid(variable, 'must name a JSON file');
  }
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

type ApiKeys = NonNullable<RdcpConfig['security']>['apiKeys'];

function fromKeyVariables(env: Environment, file: RdcpConfig, readFile: ReadFile): ApiKeys {
  const secret = setting(env, 'RDCP_API_KEY');
  const keysFile = setting(env, 'RDCP_API_KEYS_FILE');
  if (keysFile !== undefined) {
    if (secret !== undefined) throw invalid('RDCP_API_KEY', 'cannot be set beside RDCP_API_KEYS_FILE');
    read('RDCP_API_KEYS_FILE', keysFile, readFile);
    return { file: keysFile };
  }
  if (secret === undefined) return undefined;
  const configured = file.security?.apiKeys ?? [];
  if ('file' in configured) throw invalid('RDCP_API_KEY', 'cannot be set where RDCP_CONFIG names a keys file');
  return [...configured, secretKeyRecord(secret, 'RDCP_API_KEY')];
}

/** The part of a configuration that a variable sets, unchanged, when it is valid by itself. */
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
    throw invalid(variable, 'must name a file that can be read', cause);
  }
}

function invalid(variable: string, problem: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `${variable}: ${problem}`, { details: { field: variable }, cause });
}
