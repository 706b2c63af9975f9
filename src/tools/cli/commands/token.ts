import type { TokenResponse } from '../../../wire/oauth-messages.ts';
import { escapeUnprintable } from '../../../wire/printable.ts';
import { formatDuration } from '../../../wire/time.ts';
import type { TokenRequest } from '../../client/tokens.ts';
import { type Command, type Option, required, type Terminal, text, UsageError, type Values } from '../command.ts';
import { ADDRESS_OPTIONS, CONNECTION_OPTIONS, connect, connectAnonymously, oneWord, readWord } from '../connection.ts';
import { formatOf, OUTPUT_OPTIONS, readText, SCOPES_OPTION, scopes } from '../options.ts';
import { updateFile } from '../private-file.ts';

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
