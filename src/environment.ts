import { secretKeyRecord } from './auth/dev-key.ts';
import { parseConfig } from './config.ts';
import { isRdcpError, RdcpError } from './errors.ts';
import { findJsonFault } from './json-fault.ts';
import type { RdcpConfig } from './options.ts';

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

/** Every variable of this package's own, also those that the `rdcp` command alone reads. */
const KNOWN = ['RDCP_CONFIG', 'RDCP_HOST', 'RDCP_PORT', 'RDCP_STORE', 'RDCP_API_KEY', 'RDCP_API_KEYS_FILE', 'RDCP_URL'];

/** How many letters may be wrong, missing or too many in a name for another one to be suggested. */
const MISTYPED_LETTERS = 3;

/** One line for each `RDCP_*` variable that nothing reads, with the name that may have been meant. */
export function unknownVariables(env: Environment): string[] {
  const unknown = Object.keys(env).filter((name) => /^RDCP_/i.test(name) && !KNOWN.includes(name));
  return unknown.map((name) => {
    const [nearest] = KNOWN.map((known) => ({ known, distance: editDistance(name.toUpperCase(), known) }))
      .filter(({ distance }) => distance <= MISTYPED_LETTERS)
      .sort((one, other) => one.distance - other.distance);
    const advice = nearest === undefined ? `known are ${KNOWN.join(', ')}` : `did you mean ${nearest.known}?`;
    return `${name} is not known${nearest === undefined ? ': ' : '; '}${advice}`;
  });
}

/** Letters to insert, remove or replace (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [above, letter] of [...from].entries()) {
    const next = [above + 1];
    for (const [left, other] of [...to].entries()) {
      const replaced = (row[left] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (next[left] ?? 0) + 1, (row[left + 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

function setting(env: Environment, variable: string): string | undefined {
  const value = env[variable];
  return value === '' ? undefined : value;
}

function fromFile(env: Environment, readFile: ReadFile): RdcpConfig {
  const variable = 'RDCP_CONFIG';
  const path = setting(env, variable);
  if (path === undefined) return {};
  const text = read(variable, path, readFile).replace(/^\uFEFF/, '');
  const fault = findJsonFault(text);
  // The engine's own message would quote the file.
  if (fault !== undefined) throw invalid(variable, `${path} is not JSON: line ${fault.line}, column ${fault.column}`);
  return checked(variable, JSON.parse(text) ?? {});
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
    throw invalid(variable, `${path} cannot be read`, cause);
  }
}

function invalid(variable: string, problem: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `${variable}: ${problem}`, { details: { field: variable }, cause });
}
