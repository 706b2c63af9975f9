import { secretKeyRecord } from './auth/dev-key.ts';
import { parseConfig } from './config.ts';
import { failureCode, isRdcpError, RdcpError } from './errors.ts';
import { findJsonFault } from './json-fault.ts';
import type { RdcpConfig } from './options.ts';

/** Environment variables, as in `process.env`. An empty one counts as unset, as in OpenTelemetry. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the text of a file; throws if it cannot be read. */
export type ReadFile = (path: string) => string;

/**
 * Reads the configuration from the environment: the JSON file of `RDCP_CONFIG`, overridden by `RDCP_HOST`, `RDCP_PORT`,
 * `RDCP_STORE`, `RDCP_API_KEY` (one key with every scope; only its hash is kept) and `RDCP_API_KEYS_FILE`.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message is one line that starts with the variable
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

/** Every variable of this package, including those that only the `rdcp` command reads. */
export const KNOWN = [
  'RDCP_CONFIG',
  'RDCP_HOST',
  'RDCP_PORT',
  'RDCP_STORE',
  'RDCP_API_KEY',
  'RDCP_API_KEYS_FILE',
  'RDCP_URL',
  'RDCP_PROFILE',
];

/** Largest edit distance at which a known name is suggested. */
const MISTYPED_LETTERS = 3;

/** One message for each unknown `RDCP_*` variable, with the name that was probably meant. */
export function unknownVariables(env: Environment): string[] {
  const unknown = Object.keys(env).filter((name) => /^RDCP_/i.test(name) && !KNOWN.includes(name));
  return unknown.map((name) => {
    const [nearest] = KNOWN.map((known) => ({ known, distance: editDistance(name.toUpperCase(), known) }))
      .filter(({ distance }) => distance <= MISTYPED_LETTERS)
      .sort((one, other) => one.distance - other.distance);
    const advice = nearest === undefined ? `known variables are ${KNOWN.join(', ')}` : `did you mean ${nearest.known}?`;
    return `${name} is not known${nearest === undefined ? ': ' : '; '}${advice}`;
  });
}

/** Levenshtein distance: letters to insert, remove or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [above, letter] of [...from].entries()) {
    const next = [above + 1];
    for (const [left, other] of [...to].entries()) {
      const replaced = row[left]! + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, next[left]! + 1, row[left + 1]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
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
  // The error message of JSON.parse would quote the file.
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
    if (secret !== undefined) throw invalid('RDCP_API_KEY', 'cannot be combined with RDCP_API_KEYS_FILE');
    read('RDCP_API_KEYS_FILE', keysFile, readFile);
    return { file: keysFile };
  }
  if (secret === undefined) return undefined;
  const configured = file.security?.apiKeys ?? [];
  if ('file' in configured) throw invalid('RDCP_API_KEY', 'cannot be combined with a keys file in RDCP_CONFIG');
  return [...configured, secretKeyRecord(secret, 'RDCP_API_KEY')];
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
