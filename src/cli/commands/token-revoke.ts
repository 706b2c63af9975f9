import { type Command, required, text, UsageError } from '../command.ts';
import { ADDRESS_OPTIONS, connectAnonymously, readWord } from '../connection.ts';
import { REFRESH_FILE } from '../token.ts';

export const tokenRevoke: Command = {
  summary: 'end the session of a token: all its tokens stop working',
  options: {
    'refresh-file': REFRESH_FILE,
    'token-file': { type: 'string', value: 'FILE', help: 'file with an access token of the session' },
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
    return 0;
  },
};
