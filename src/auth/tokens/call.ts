import type { AuditAction } from '../../protocol/messages.ts';
import type { ClientCertificate } from '../authenticator.ts';
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
  readonly form: Iterable<readonly [string, string]>;
  readonly authorization?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Told who asks before anything is issued or changed; refuses by throwing. */
  identified(principal: Principal): void;
  /** Writes the trail. When it rejects, nothing is handed out. */
  note(event: TokenEvent): Promise<void>;
}

/** The successful answer of the token endpoint (RFC 6749, section 5.1; RFC 8693, section 2.2.1). */
export interface TokenGrant {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
  readonly issued_token_type?: string;
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
