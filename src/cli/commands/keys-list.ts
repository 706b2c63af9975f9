import type { ApiKeyRecord } from '../../options.ts';
import { type Command, required } from '../command.ts';
import { readKeys } from '../keys-store.ts';
import { OUTPUT_OPTIONS, present } from '../output.ts';
import { table } from '../table.ts';

type KeyState = 'active' | 'not yet valid' | 'expired';

export const keysList: Command = {
  summary: 'list the API keys of a file, without their hashes',
  options: {
    file: { type: 'string', value: 'FILE', help: 'the keys file' },
    ...OUTPUT_OPTIONS,
  },
  examples: ['rdcp keys list --file keys.json'],
  run: async (terminal, values) => {
    const keys = readKeys(required(values, 'file', 'FILE')).map(({ hash: _, ...record }) => ({
      ...record,
      state: stateOf(record, terminal.now()),
    }));
    present(terminal, values, { keys }, () => {
      const rows = keys.map((key) => [
        key.id,
        key.clientId,
        key.scopes.join(','),
        key.tenantId ?? '-',
        key.expiresAt ?? 'never',
        key.state,
      ]);
      terminal.show(table(terminal, ['ID', 'CLIENT', 'SCOPES', 'TENANT', 'EXPIRES', 'STATE'], rows));
    });
    return 0;
  },
};

function stateOf({ notBefore, expiresAt }: Omit<ApiKeyRecord, 'hash'>, now: number): KeyState {
  if (expiresAt !== undefined && now >= Date.parse(expiresAt)) return 'expired';
  return notBefore !== undefined && now < Date.parse(notBefore) ? 'not yet valid' : 'active';
}
