import { randomBytes } from 'node:crypto';
import { generateApiKey, hashApiKey } from '../../../access/api-key.ts';
import { parseKeysFile } from '../../../access/api-keys.ts';
import type { ApiKeyRecord } from '../../../options/options.ts';
import { allowSchema } from '../../../wire/allow.ts';
import { allowText } from '../../../wire/allow-text.ts';
import { ALLOWED_ACTIONS, MAX_BUDGET_RATE, MAX_BUDGET_TOTAL } from '../../../wire/constants.ts';
import { firstIssue } from '../../../wire/issues.ts';
import { given } from '../../../wire/json-text.ts';
import type { TokenResponse } from '../../../wire/oauth-messages.ts';
import { escapeUnprintable } from '../../../wire/printable.ts';
import { formatDuration, parseDuration, timestamp } from '../../../wire/time.ts';
import type { TokenRequest } from '../../client/tokens.ts';
import { type Command, type Option, required, type Terminal, text, UsageError, type Values } from '../command.ts';
import { ADDRESS_OPTIONS, CONNECTION_OPTIONS, connect, connectAnonymously, oneWord, readWord } from '../connection.ts';
import { timeCell } from '../local-time.ts';
import {
  duration,
  formatOf,
  identifier,
  OUTPUT_OPTIONS,
  present,
  readText,
  SCOPES_OPTION,
  scopes,
  wholeNumber,
} from '../options.ts';
import { updateFile } from '../private-file.ts';

/** What the key may do with categories. All but the first need that. */
const ALLOW = {
  allow: {
    value: 'A,B*',
    help: "categories that the key may switch, tail and forecast, such as 'DB_*' (default: all)",
  },
  'allow-actions': { value: 'A,B', help: `of ${ALLOWED_ACTIONS.join(', ')} (default: what its scopes allow)` },
  'allow-for': { value: '15m', help: 'longest control and tail; nothing permanent' },
  'allow-rate': { value: 'N', help: 'maximum calls per second of what it switches on' },
  'allow-calls': { value: 'N', help: 'most calls of what it switches on' },
  'allow-bytes': { value: 'N', help: 'most bytes of what it switches on' },
  'allow-tenants': { value: 'A,B*', help: 'tenants that it may do that for; never everybody' },
  'redact-tail': { help: 'its tails show names of attributes without their values' },
  approval: { help: "a change beyond that waits for 'rdcp approve', instead of being refused" },
} as const satisfies Record<string, Option>;

export const keysCreate: Command = {
  summary: 'create an API key and print it; it is not shown again',
  options: {
    file: { value: 'FILE', help: 'the keys file; created if it does not exist' },
    client: { value: 'ID', help: 'the client that the key is for' },
    scopes: SCOPES_OPTION,
    tenant: { value: 'ID', help: 'the tenant of the key (default: none)' },
    tenants: { value: 'A,B*', help: "tenants that the key may name with --tenant, '*' for all (default: none)" },
    user: { value: 'ID', help: 'the user of the key (default: the client)' },
    ...ALLOW,
    env: { value: 'NAME', help: 'environment, as part of the key (default: live)' },
    expires: { value: '90d', help: 'how long the key is valid (default: until it is revoked)' },
  },
  notes: [
    'Only the key goes to stdout:',
    '  umask 077; rdcp keys create --file keys.json --client ops --scopes status,control > key',
    'The file stores only a hash of the key. A running service accepts a new key within a second.',
  ],
  examples: [
    'rdcp keys create --file keys.json --client alice --scopes discovery,status,control --expires 90d',
    "rdcp keys create --file keys.json --client agent --scopes control,tail --allow 'DB_*' --allow-for 15m",
  ],
  run: async (terminal, values) => {
    const file = required(values, 'file', 'FILE');
    const key = makeKey(text(values, 'env'));
    const seconds = secondsOf(text(values, 'expires'));
    const record = recordOf(key, values, seconds && terminal.now() + seconds * 1000);
    await updateKeys(file, (records) => [...records, record]);
    terminal.out(key);
    terminal.note(`Added ${record.id} to ${file}: ${summary(record, seconds)}. The key is not shown again.`);
  },
};

export const keysList: Command = {
  summary: 'list the API keys of a file, without their hashes',
  options: { file: { value: 'FILE', help: 'the keys file' }, ...OUTPUT_OPTIONS },
  examples: ['rdcp keys list --file keys.json'],
  run: async (terminal, values) => {
    const file = required(values, 'file', 'FILE');
    const keys = parseKeysFile(readText(file, '--file'), file).map(({ hash: _, ...record }) => ({
      ...record,
      state: stateOf(record, terminal.now()),
    }));
    present(terminal, values, { keys }, () => {
      const limited = keys.some(({ allow }) => allow !== undefined);
      terminal.table(keys, [
        ['ID', ({ id }) => id],
        ['CLIENT', ({ clientId }) => clientId],
        ['SCOPES', ({ scopes }) => scopes.join(',')],
        ['TENANT', ({ tenantId, tenants }) => tenantId ?? tenants?.join(',') ?? '-'],
        ['EXPIRES', ({ expiresAt }) => (expiresAt === undefined ? 'never' : timeCell(terminal, expiresAt))],
        ['STATE', ({ state }) => state],
        limited && ['ALLOWED', ({ allow }) => (allow === undefined ? 'all' : allowText(allow))],
      ]);
    });
  },
};

export const keysRevoke: Command = {
  summary: 'remove an API key from its file; running services reject it within a second',
  operands: '<id>',
  options: { file: { value: 'FILE', help: 'the keys file' } },
  examples: ['rdcp keys revoke --file keys.json key-0f6c5b2d9e41'],
  run: async (terminal, values, [id = '']) => {
    const file = required(values, 'file', 'FILE');
    parseKeysFile(readText(file, '--file'), file);
    await updateKeys(file, (records) => {
      const kept = records.filter((record) => record.id !== id);
      if (kept.length === records.length) throw new Error(`${file} has no key with the ID ${id}`);
      return kept;
    });
    terminal.note(`Revoked ${id}.`);
  },
};

function updateKeys(
  file: string,
  change: (records: readonly ApiKeyRecord[]) => readonly ApiKeyRecord[],
): Promise<void> {
  return updateFile(file, (before) => {
    // `mktemp` and `touch` create an empty file: no keys yet.
    const keys = change(before === '' ? [] : parseKeysFile(before, file));
    const text = `${JSON.stringify({ keys }, undefined, 2)}\n`;
    // Throws before the file is written if the service would reject it.
    parseKeysFile(text, file);
    return text;
  });
}

function makeKey(env: string | undefined): string {
  try {
    return generateApiKey({ randomBytes, ...(env === undefined ? {} : { env }) });
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--${error.message}`);
    throw error;
  }
}

function recordOf(key: string, values: Values, expiresAt: number | undefined): ApiKeyRecord {
  const hash = hashApiKey(key);
  const clientId = identifier(values, 'client') ?? required(values, 'client', 'ID');
  required(values, 'scopes', 'A,B');
  return {
    id: `key-${hash.slice('sha256:'.length, 'sha256:'.length + 12)}`,
    hash,
    clientId,
    ...given({
      userId: identifier(values, 'user'),
      tenantId: identifier(values, 'tenant'),
      tenants: text(values, 'tenants')?.split(','),
    }),
    scopes: scopes(values) ?? [],
    ...limitsOf(values),
    ...(expiresAt !== undefined && { expiresAt: timestamp(expiresAt) }),
  };
}

/** @throws {UsageError} for limits without `--allow`, and for malformed ones */
function limitsOf(values: Values): Pick<ApiKeyRecord, 'allow' | 'approval'> {
  const categories = text(values, 'allow');
  if (categories === undefined) {
    const given = Object.keys(ALLOW).find((name) => values[name] !== undefined);
    if (given !== undefined) throw new UsageError(`--${given} needs --allow`);
    return {};
  }
  const maxBudget = given({
    callsPerSecond: wholeNumber(values, 'allow-rate', MAX_BUDGET_RATE),
    calls: wholeNumber(values, 'allow-calls', MAX_BUDGET_TOTAL),
    bytes: wholeNumber(values, 'allow-bytes', MAX_BUDGET_TOTAL),
  });
  const result = allowSchema.safeParse({
    categories: categories.toUpperCase().split(','),
    actions: text(values, 'allow-actions')?.split(','),
    ...given({ maxDuration: duration(values, 'allow-for') }),
    ...(Object.keys(maxBudget).length > 0 && { maxBudget }),
    ...(values['redact-tail'] === true && { tail: 'redacted' }),
    tenants: text(values, 'allow-tenants')?.split(','),
  });
  if (result.success) return { allow: result.data, ...(values.approval === true && { approval: true }) };
  const { field, message } = firstIssue(result.error);
  const [member] = field.split('.');
  throw new UsageError(`--allow${member === 'categories' ? '' : `-${member}`} ${message}`);
}

function secondsOf(expires: string | undefined): number | undefined {
  if (expires === undefined) return undefined;
  const seconds = parseDuration(expires);
  // A Timestamp cannot express a year after 9999.
  if (seconds !== undefined && seconds <= 1000 * 366 * 86_400) return seconds;
  throw new UsageError('--expires must be a duration such as 12h or 90d, at most 366000d');
}

function summary(
  { clientId, scopes, tenantId, tenants, allow, approval }: ApiKeyRecord,
  seconds: number | undefined,
): string {
  const parts = [`client ${clientId}`, `scopes ${scopes.join(', ')}`];
  if (tenantId !== undefined) parts.push(`tenant ${tenantId}`);
  if (tenants !== undefined) parts.push(`tenants ${tenants.join(', ')}`);
  if (allow !== undefined) parts.push(`only ${allowText(allow)}`);
  if (approval === true) parts.push('else with approval');
  parts.push(seconds === undefined ? 'never expires' : `expires in ${formatDuration(seconds)}`);
  return parts.join('; ');
}

function stateOf({ notBefore, expiresAt }: Omit<ApiKeyRecord, 'hash'>, now: number) {
  if (expiresAt !== undefined && now >= Date.parse(expiresAt)) return 'expired';
  return notBefore !== undefined && now < Date.parse(notBefore) ? 'not yet valid' : 'active';
}

const SCOPES: Option = { ...SCOPES_OPTION, help: `${SCOPES_OPTION.help} (default: all that the credential has)` };
const REFRESH_FILE: Option = {
  value: 'FILE',
  help: 'file with the refresh token of the session, readable by its owner only',
};

export const tokenCreate: Command = {
  summary: 'exchange the key or token for a short-lived token, optionally with fewer scopes, and print it',
  options: { scopes: SCOPES, 'refresh-file': REFRESH_FILE, ...CONNECTION_OPTIONS },
  notes: [
    'Only the token goes to stdout:',
    '  umask 077; rdcp token create --scopes status > token; rdcp status --token-file token',
  ],
  examples: ['rdcp token create --scopes status --refresh-file session > token'],
  run: async (terminal, values) => {
    const { tokens } = connect(terminal, values);
    const request = tokenRequest(values);
    const created = async () => {
      const session = await tokens.exchange(request);
      showToken(terminal, values, session);
      return session;
    };
    const file = text(values, 'refresh-file');
    if (file === undefined) await created();
    else {
      await updateFile(file, async () => {
        const session = await created();
        if (session.refresh_token === undefined) throw new Error('the service sent no refresh token');
        return `${session.refresh_token}\n`;
      });
    }
  },
};

export const tokenRefresh: Command = {
  summary: 'print a new token of the session and store its new refresh token',
  options: { 'refresh-file': REFRESH_FILE, scopes: SCOPES, ...OUTPUT_OPTIONS, ...ADDRESS_OPTIONS },
  notes: ['A refresh token works once. Using a copy of its file as well ends the session.'],
  examples: ['rdcp token refresh --refresh-file session > token'],
  run: async (terminal, values) => {
    const file = required(values, 'refresh-file', 'FILE');
    readText(file, '--refresh-file');
    const { tokens } = connectAnonymously(terminal, values);
    const request = tokenRequest(values);
    await updateFile(file, async (kept) => {
      const next = await tokens.refresh(oneWord(kept, file), request);
      showToken(terminal, values, next);
      return next.refresh_token === undefined ? kept : `${next.refresh_token}\n`;
    });
  },
};

export const tokenRevoke: Command = {
  summary: 'end the session of a token: all its tokens stop working',
  options: {
    'refresh-file': REFRESH_FILE,
    'token-file': { value: 'FILE', help: 'file with an access token of the session' },
    ...ADDRESS_OPTIONS,
  },
  examples: ['rdcp token revoke --refresh-file session'],
  run: async (terminal, values) => {
    const given = ['refresh-file', 'token-file'].filter((name) => text(values, name) !== undefined);
    const [name] = given;
    if (name === undefined || given.length > 1) {
      throw new UsageError('exactly one of --refresh-file and --token-file is required');
    }
    const token = readWord(required(values, name, 'FILE'), `--${name}`);
    await connectAnonymously(terminal, values).tokens.revoke(token);
    terminal.note('Revoked. If the token had a session, the session has ended.');
  },
};

function tokenRequest(values: Values): TokenRequest {
  const requested = scopes(values);
  return requested === undefined ? {} : { scopes: requested };
}

/** Only the token goes to stdout, so that a script can capture it. */
function showToken(terminal: Terminal, values: Values, answer: TokenResponse): void {
  terminal.out(
    formatOf(values) === 'json' ? JSON.stringify(answer, undefined, 2) : escapeUnprintable(answer.access_token),
  );
  terminal.note(
    `Valid for ${formatDuration(answer.expires_in)}; scopes ${escapeUnprintable(answer.scope.replaceAll(' ', ', '))}.`,
  );
}
