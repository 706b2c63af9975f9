import { randomBytes } from 'node:crypto';
import { generateApiKey, hashApiKey } from '../../auth/api-key.ts';
import type { ApiKeyRecord } from '../../options.ts';
import { isIdentifier } from '../../protocol/names.ts';
import { formatDuration, parseDuration, timestamp } from '../../protocol/time.ts';
import { type Command, required, text, UsageError, type Values } from '../command.ts';
import { updateKeys } from '../keys-store.ts';
import { SCOPES_OPTION, scopesOf } from '../scopes.ts';

export const keysCreate: Command = {
  summary: 'create an API key and print it; it is not shown again',
  options: {
    file: { type: 'string', value: 'FILE', help: 'the keys file; created if it does not exist' },
    client: { type: 'string', value: 'ID', help: 'the client that the key is for' },
    scopes: SCOPES_OPTION,
    tenant: { type: 'string', value: 'ID', help: 'the tenant of the key (default: none)' },
    user: { type: 'string', value: 'ID', help: 'the user of the key (default: the client)' },
    env: { type: 'string', value: 'NAME', help: 'environment, as part of the key (default: live)' },
    expires: { type: 'string', value: '90d', help: 'how long the key is valid (default: until it is revoked)' },
  },
  notes: [
    'Only the key goes to stdout:',
    '  umask 077; rdcp keys create --file keys.json --client ops --scopes status,control > key',
    'The file stores only a hash of the key. A running service accepts a new key within a second.',
  ],
  examples: ['rdcp keys create --file keys.json --client alice --scopes discovery,status,control --expires 90d'],
  run: async (terminal, values) => {
    const file = required(values, 'file', 'FILE');
    const key = makeKey(text(values, 'env'));
    const record = recordOf(key, values, terminal.now());
    await updateKeys(file, (records) => [...records, record]);
    terminal.out(key);
    terminal.note(
      `Added ${record.id} to ${file}: ${summary(record, text(values, 'expires'))}. The key is not shown again.`,
    );
    return 0;
  },
};

function makeKey(env: string | undefined): string {
  try {
    return generateApiKey({ randomBytes, ...(env === undefined ? {} : { env }) });
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--${error.message}`);
    throw error;
  }
}

function recordOf(key: string, values: Values, now: number): ApiKeyRecord {
  const hash = hashApiKey(key);
  const clientId = identifier(values, 'client') ?? required(values, 'client', 'ID');
  const userId = identifier(values, 'user');
  const tenantId = identifier(values, 'tenant');
  const expires = text(values, 'expires');
  return {
    id: `key-${hash.slice('sha256:'.length, 'sha256:'.length + 12)}`,
    hash,
    clientId,
    ...(userId === undefined ? {} : { userId }),
    ...(tenantId === undefined ? {} : { tenantId }),
    scopes: scopesOf(required(values, 'scopes', 'A,B')),
    ...(expires === undefined ? {} : { expiresAt: timestamp(now + secondsOf(expires) * 1000) }),
  };
}

function identifier(values: Values, name: string): string | undefined {
  const value = text(values, name);
  if (value === undefined || isIdentifier(value)) return value;
  throw new UsageError(`--${name} must be 1 to 255 characters of a-z A-Z 0-9 . _ -`);
}

function secondsOf(expires: string): number {
  const seconds = parseDuration(expires);
  // A Timestamp cannot express a year after 9999.
  if (seconds === undefined || seconds > 1000 * 366 * 86_400) {
    throw new UsageError('--expires must be a duration such as 12h or 90d, at most 366000d');
  }
  return seconds;
}

function summary(record: ApiKeyRecord, expires: string | undefined): string {
  const parts = [`client ${record.clientId}`, `scopes ${record.scopes.join(', ')}`];
  if (record.tenantId !== undefined) parts.push(`tenant ${record.tenantId}`);
  const seconds = expires === undefined ? undefined : parseDuration(expires);
  parts.push(seconds === undefined ? 'never expires' : `expires in ${formatDuration(seconds)}`);
  return parts.join('; ');
}
