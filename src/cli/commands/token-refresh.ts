import { type Command, required } from '../command.ts';
import { ADDRESS_OPTIONS, connectAnonymously, oneWord } from '../connection.ts';
import { OUTPUT_OPTIONS } from '../output.ts';
import { updateFile } from '../private-file.ts';
import { readText } from '../read-text.ts';
import { REFRESH_FILE, SCOPES, showToken, tokenRequest } from '../token.ts';

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
    return 0;
  },
};
