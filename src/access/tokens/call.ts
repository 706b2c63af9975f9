import type { AuditAction } from '../../wire/audit-messages.ts';
import type { ClientCertificate, Sender } from '../authenticator.ts';
import type { Principal } from '../principal.ts';

export interface TokenEvent {
  readonly action: Extract<AuditAction, `token.${string}`>;
  readonly outcome: 'success' | 'denied';
  /** Principal of the session. `sessionId` is set. */
  readonly principal: Principal;
  readonly reason: string;
}

export interface TokenCall {
  readonly form: readonly (readonly [string, string])[];
  readonly authorization?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
  readonly sender?: Sender | undefined;
  /** Called with the principal before anything is issued or changed. Throws to refuse. */
  identified(principal: Principal): void;
  /** Like `identified`, for the revocation of a valid token, which is not rate limited. */
  revoking(principal: Principal): void;
  /** Called when no principal is identified and the request succeeds. Throws to refuse. */
  unidentified(): void;
  /** Writes the audit entry. If it rejects, no token is returned. */
  note(event: TokenEvent): Promise<void>;
}
