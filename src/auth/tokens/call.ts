import type { AuditAction, TokenGrant } from '../../protocol/messages.ts';
import type { ClientCertificate, Sender } from '../authenticator.ts';
import type { Principal } from '../principal.ts';
import type { IssuedTokens } from './issuing.ts';

/** Something that belongs into the audit trail. */
export interface TokenEvent {
  readonly action: Extract<AuditAction, `token.${string}`>;
  readonly outcome: 'success' | 'denied';
  /** Whose session it is; `sessionId` is there. */
  readonly principal: Principal;
  readonly reason: string;
}

/** One request to an endpoint of tokens. */
export interface TokenCall {
  /** The fields of the form, in order. */
  readonly form: readonly (readonly [string, string])[];
  readonly authorization?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
  readonly sender?: Sender | undefined;
  /** Told who asks before anything is issued or changed; refuses by throwing. */
  identified(principal: Principal): void;
  /** The same for somebody who revokes a token that is good: no quota keeps anybody from that. */
  revoking(principal: Principal): void;
  /** Told that nobody is identified and there is no error to answer; refuses by throwing. */
  unidentified(): void;
  /** Writes the trail. When it rejects, nothing is handed out. */
  note(event: TokenEvent): Promise<void>;
}

export function grantOf({ accessToken, expiresInSeconds, scopes, refreshToken }: IssuedTokens): TokenGrant {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    scope: scopes.join(' '),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  };
}
