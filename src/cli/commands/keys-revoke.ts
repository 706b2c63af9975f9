import { type Command, required } from '../command.ts';
import { readKeys, updateKeys } from '../keys-store.ts';

export const keysRevoke: Command = {
  summary: 'remove an API key from its file; running services reject it within a second',
  operands: '<id>',
  options: { file: { type: 'string', value: 'FILE', help: 'the keys file' } },
  examples: ['rdcp keys revoke --file keys.json key-0f6c5b2d9e41'],
  run: async (terminal, values, operands) => {
    const file = required(values, 'file', 'FILE');
    const [id = ''] = operands;
    readKeys(file);
    await updateKeys(file, (records) => {
      const kept = records.filter((record) => record.id !== id);
      if (kept.length === records.length) throw new Error(`${file} has no key with the ID ${id}`);
      return kept;
    });
    terminal.note(`Revoked ${id}.`);
    return 0;
  },
};
