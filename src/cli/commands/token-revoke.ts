import { type Command, text, UsageError } from '../command.ts';
import { ADDRESS_OPTIONS, connect, readWord } from '../connection.ts';
import { REFRESH_FILE } from '../token.ts';

export const tokenRevoke: Command = {
  summary: 'end the session of a token: none of its tokens works any longer',
  options: {
    'refresh-file': REFRESH_FILE,
    'token-file': { type: 'string', value: 'FILE', help: 'holds an access token of the session' },
    ...ADDRESS_OPTIONS,
  },
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('token revoke takes no operands');
    const files = [text(values, 'refresh-file'), text(values, 'token-file')].filter((file) => file !== undefined);
    const [file] = files;
    if (file === undefined || files.length > 1)
      throw new UsageError('one of --refresh-file and --token-file is required');
    await connect(terminal, values, {}).tokens.revoke(readWord(file));
    terminal.note('The session has ended, if there was one.');
    return 0;
  },
};
