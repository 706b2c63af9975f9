import type { ApiKeyRecord } from '../../options.ts';
import { type Command, required, UsageError } from '../command.ts';
import { readKeys } from '../keys-store.ts';
import { table } from '../table.ts';

type KeyState = 'active' | 'not yet valid' | 'expired';

export const keysList: Command = {
  summary: 'list the API keys of a file, without their hashes',
  options: {
    file: { type: 'string', value: 'FILE', help: 'the keys file' },
    json: { type: 'boolean', help: 'print the keys as JSON' },
  },
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('keys list takes no operands');
    const keys = readKeys(required(values, 'file', 'FILE')).map(({ hash: _, ...record }) => ({
      ...record,
      state: stateOf(record, terminal.now()),
    }));
    if (values.json === true) {
      terminal.out(JSON.stringify({ keys }, undefined, 2));
      return 0;
    }
    const rows = keys.map((key) => [
      key.id,
      key.clientId,
      key.scopes.join(','),
      key.tenantId ?? '-',
      key.expiresAt ?? 'never',
      key.state,
    ]);
    terminal.out(table(['ID', 'CLIENT', 'SCOPES', 'TENANT', 'EXPIRES', 'STATE'], rows));
    return 0;
  },
};

function stateOf({ notBefore, expiresAt }: Omit<ApiKeyRecord, 'hash'>, now: number): KeyState {
  if (expiresAt !== undefined && now >= Date.parse(expiresAt)) return 'expired';
  return notBefore !== undefined && now < Date.parse(notBefore) ? 'not yet valid' : 'active';
}
