import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Level } from './check.ts';
import type { Judgement } from './conformance.ts';
import type { Target } from './http.ts';
import { apiKey, bearer, type Credential, type Credentials } from './session.ts';

export const HELP = `Usage: rdcp-conformance --url URL [credentials] [options]

Checks a server of any maker against RDCP 1.0, over HTTP. It only reads, unless --changes lets it switch one category,
which it puts back. Checks that need more than they were given are skipped and say so.

Credentials (each --…-key and --…-token also as --…-file FILE, which keeps it out of the process list)
  --key KEY              API key with all four scopes; default: RDCP_API_KEY
  --token JWT            bearer token; the main credential when there is no --key
  --readonly-key KEY     lacks the scope control     --readonly-token JWT
  --admin-key KEY        holds admin, for the trail  --admin-token JWT      default: the main credential
  --tenant-key KEY       of a tenant, with control   --tenant-token JWT     twice, for two tenants
  --expired-token JWT    expired                     --foreign-token JWT    other issuer or audience
  --ca FILE              PEM, trusted beside nothing else
  --cert FILE --key-pem FILE   client certificate and its key

Options
  --url URL              the server; default: RDCP_URL
  --changes              also checks that switch one category and send wrong bodies
  --category NAME        switch this category; default: one that discovery shows switched off
  --level 1|2|3          judge this level; default: the level that the server declares
  --only ID[,ID…]        only checks whose id starts so
  --exhaust              also use up limits and wait for timeouts, which takes minutes; needs --changes
  --checks               print the checks and make none
  -o, --output FORMAT    text or json; default: text
  --help                 print this

Exit code: 0 no MUST check of the level failed, 1 one failed, 2 the run could not be made.
`;

/** The parsed command line. */
export type Options =
  | { readonly run: 'help' }
  | { readonly run: 'checks'; readonly json: boolean }
  | (Judgement & { readonly run: 'judge'; readonly json: boolean });

/** A mistake on the command line. The message is for the user. */
export class UsageError extends Error {}

const one = { type: 'string' } as const;
const many = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean', default: false } as const;

const FLAGS = {
  url: one,
  key: one,
  'key-file': one,
  token: one,
  'token-file': one,
  'readonly-key': one,
  'readonly-key-file': one,
  'readonly-token': one,
  'readonly-token-file': one,
  'admin-key': one,
  'admin-key-file': one,
  'admin-token': one,
  'admin-token-file': one,
  'tenant-key': many,
  'tenant-key-file': many,
  'tenant-token': many,
  'tenant-token-file': many,
  'expired-token': one,
  'expired-token-file': one,
  'foreign-token': one,
  'foreign-token-file': one,
  ca: one,
  cert: one,
  'key-pem': one,
  level: one,
  category: one,
  only: one,
  changes: flag,
  exhaust: flag,
  checks: flag,
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values'];
type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {UsageError} naming the flag that is wrong */
export function parseOptions(args: readonly string[], env: Environment = {}): Options {
  const values = parse(args);
  const { category, level, changes, exhaust, only, output } = values;
  const json = output === 'json';
  if (values.help) return { run: 'help' };
  if (!/^(?:text|json)$/.test(output)) throw new UsageError('--output must be text or json');
  if (values.checks) return { run: 'checks', json };
  if (level !== undefined && !/^[123]$/.test(level)) throw new UsageError('--level must be 1, 2 or 3');
  if (exhaust && !changes) throw new UsageError('--exhaust needs --changes');
  return {
    run: 'judge',
    json,
    target: targetOf(values, env),
    credentials: credentialsOf(values, env),
    ...(category === undefined ? {} : { category }),
    ...(level === undefined ? {} : { level: Number(level) as Level }),
    readOnly: !changes,
    exhaust,
    only: only?.split(',').filter((id) => id !== '') ?? [],
  };
}

function parse(args: readonly string[]): Values {
  try {
    return parseArgs({ args: [...args], options: FLAGS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function targetOf(values: Values, env: Environment): Target {
  const { ca, cert, 'key-pem': keyPem, url = env.RDCP_URL || undefined } = values;
  if (url === undefined) throw new UsageError('--url is required');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError('--url must be an http or https URL');
  }
  if ((cert === undefined) !== (keyPem === undefined)) throw new UsageError('--cert and --key-pem come together');
  return {
    url: new URL(url),
    ...(ca === undefined ? {} : { ca: read(ca, '--ca') }),
    ...(cert === undefined || keyPem === undefined
      ? {}
      : { cert: read(cert, '--cert'), key: read(keyPem, '--key-pem') }),
  };
}

function credentialsOf(values: Values, env: Environment): Credentials {
  const hybrid = values.cert !== undefined;
  const token = single(values, 'token');
  const key = single(values, 'key') ?? (token === undefined ? env.RDCP_API_KEY || undefined : undefined);
  // Beside a certificate a token makes the pair that the specification calls hybrid.
  const tokenCredential = token === undefined ? undefined : withMethod(bearer('token', token), hybrid);
  const certificate: Credential | undefined = hybrid
    ? { label: 'certificate', method: 'mtls', valid: true }
    : undefined;
  const main = key === undefined ? (tokenCredential ?? certificate) : apiKey('key', key);
  const chosen = {
    main,
    token: tokenCredential,
    readonly: either(values, 'readonly', hybrid),
    admin: either(values, 'admin', hybrid),
    expired: pair(values, 'expired', hybrid),
    foreign: pair(values, 'foreign', hybrid),
  };
  const given = Object.entries(chosen).filter(([, credential]) => credential !== undefined);
  return { ...Object.fromEntries(given), tenants: tenantsOf(values, hybrid) };
}

function tenantsOf(values: Values, hybrid: boolean): readonly Credential[] {
  const keys = [...(values['tenant-key'] ?? []), ...(values['tenant-key-file'] ?? []).map(readSecret)];
  const tokens = [...(values['tenant-token'] ?? []), ...(values['tenant-token-file'] ?? []).map(readSecret)];
  return [
    ...keys.map((key, index) => apiKey(`tenant key ${index + 1}`, key)),
    ...tokens.map((token, index) => withMethod(bearer(`tenant token ${index + 1}`, token), hybrid)),
  ];
}

/** @throws {UsageError} where both are given: one of them would be ignored */
function either(values: Values, who: 'readonly' | 'admin', hybrid: boolean): Credential | undefined {
  const key = single(values, `${who}-key`);
  const token = single(values, `${who}-token`);
  if (key !== undefined && token !== undefined) {
    throw new UsageError(`--${who}-key and --${who}-token cannot be combined`);
  }
  if (key !== undefined) return apiKey(`${who} key`, key);
  return token === undefined ? undefined : withMethod(bearer(`${who} token`, token), hybrid);
}

function pair(values: Values, who: 'expired' | 'foreign', hybrid: boolean): Credential | undefined {
  const token = single(values, `${who}-token`);
  return token === undefined ? undefined : withMethod(bearer(`${who} token`, token, false), hybrid);
}

function withMethod(credential: Credential, hybrid: boolean): Credential {
  return hybrid ? { ...credential, method: 'hybrid' } : credential;
}

type Single = 'key' | 'token' | `${'readonly' | 'admin'}-${'key' | 'token'}` | `${'expired' | 'foreign'}-token`;

function single(values: Values, name: Single): string | undefined {
  const file = values[`${name}-file`];
  return values[name] ?? (file === undefined ? undefined : readSecret(file));
}

function readSecret(file: string): string {
  return read(file, 'a credential').trim();
}

function read(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`${what}: ${file} cannot be read`);
  }
}
