/** Everything that was issued from one grant. It lives until its end, or until it is revoked. */
export interface TokenSession {
  /** Stands in its access tokens and in the audit trail. */
  readonly id: string;
  /** SHA-256 of the refresh token that is in force, base64url. The token itself is kept nowhere. */
  readonly current: string;
  /** What the issuer keeps with it. No store looks into it. */
  readonly data: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A refresh token, known to be one of the session's, asks to be replaced. */
export interface Rotation {
  readonly id: string;
  /** Hash of the token that was presented. */
  readonly expected: string;
  /** Hash of the token that follows it. */
  readonly next: string;
  readonly now: number;
  /** When the last access token of the session ends, should it be revoked; milliseconds since the epoch. */
  readonly revokedUntil: number;
}

export type RotationOutcome =
  /** `next` is in force. */
  | 'rotated'
  /** The token was replaced before. The session was revoked in the same step. */
  | 'reused'
  /** There is no such session any more. Nothing was changed. */
  | 'ended';

/** A session whose access tokens must not be accepted, although they have not expired. */
export interface Revocation {
  readonly sessionId: string;
  /** When the last of them expires; milliseconds since the epoch. */
  readonly until: number;
}

export interface Revocations {
  /** Where to read on. Means something to the store that gave it out alone. */
  readonly position: number;
  /** May repeat what was read before. */
  readonly revoked: readonly Revocation[];
}

/**
 * Where the records of issued tokens are kept. Every step is atomic, whichever process takes it. Methods reject when the
 * store cannot be reached. An implementation passes `test/store/token-contract.ts`.
 */
export interface TokenStore {
  begin(session: TokenSession, now: number): Promise<void>;
  /** The session, unless it has ended or was revoked. */
  find(id: string, now: number): Promise<TokenSession | undefined>;
  rotate(rotation: Rotation): Promise<RotationOutcome>;
  /**
   * Ends a session, also one that never had a refresh token.
   * @param until when its last access token expires, milliseconds since the epoch
   * @returns false when it was revoked before
   */
  revoke(id: string, until: number, now: number): Promise<boolean>;
  /** Revocations in force that were added after a position; 0 reads all. */
  revocations(after: number, now: number): Promise<Revocations>;
}
