import { type Command, text } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { updateFile } from '../private-file.ts';
import { REFRESH_FILE, SCOPES, showToken, tokenRequest } from '../token.ts';

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
    const file = text(values, 'refresh-file');
    if (file === undefined) {
      showToken(terminal, values, await tokens.exchange(request));
      return 0;
    }
    await updateFile(file, async () => {
      const session = await tokens.exchange(request);
      showToken(terminal, values, session);
      if (session.refresh_token === undefined) throw new Error('the service sent no refresh token');
      return `${session.refresh_token}\n`;
    });
    return 0;
  },
};
