import type { TokenRequest } from '../client/tokens.ts';
import { escapeUnprintable } from '../printable.ts';
import type { TokenResponse } from '../protocol/oauth-messages.ts';
import { formatDuration } from '../protocol/time.ts';
import { type Option, type Terminal, text, type Values } from './command.ts';
import { formatOf } from './output.ts';
import { SCOPES_OPTION, scopesOf } from './scopes.ts';

export const SCOPES: Option = {
  ...SCOPES_OPTION,
  help: `${SCOPES_OPTION.help} (default: all that the credential has)`,
};

export const REFRESH_FILE = {
  type: 'string',
  value: 'FILE',
  help: 'file with the refresh token of the session, readable by its owner only',
} as const satisfies Option;

export function tokenRequest(values: Values): TokenRequest {
  const scopes = text(values, 'scopes');
  return scopes === undefined ? {} : { scopes: scopesOf(scopes) };
}

/** Only the token goes to stdout, so that a script can capture it. */
export function showToken(terminal: Terminal, values: Values, answer: TokenResponse): void {
  terminal.out(
    formatOf(values) === 'json' ? JSON.stringify(answer, undefined, 2) : escapeUnprintable(answer.access_token),
  );
  terminal.note(
    `Valid for ${formatDuration(answer.expires_in)}; scopes ${escapeUnprintable(answer.scope.replaceAll(' ', ', '))}.`,
  );
}
