/** Everything issued from one grant. It lives until it expires or is revoked. */
export interface TokenSession {
  /** Appears in its access tokens and in the audit trail. */
  readonly id: string;
  /** SHA-256 of the current refresh token, base64url. The token itself is stored nowhere. */
  readonly current: string;
  /** Data of the issuer, opaque to the store. */
  readonly data: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Replaces a refresh token of a session. */
export interface Rotation {
  /** Id of the session. */
  readonly id: string;
  /** Hash of the presented token. */
  readonly expected: string;
  /** Hash of the token that replaces it. */
  readonly next: string;
  /** Wall time, milliseconds since the epoch. */
  readonly now: number;
  /** When the session's last access token expires, in case it is revoked; milliseconds since the epoch. */
  readonly revokedUntil: number;
}

/** The outcome of presenting a refresh token. */
export type RotationOutcome =
  /** `next` is now current. */
  | 'rotated'
  /** The token had been replaced before. The session was revoked in the same step. */
  | 'reused'
  /** The session no longer exists. Nothing was changed. */
  | 'ended';

/** A session whose access tokens must be rejected, although they have not expired. */
export interface Revocation {
  /** Id of the session. */
  readonly sessionId: string;
  /** When its last access token expires; milliseconds since the epoch. */
  readonly until: number;
}

/** A part of the list of revoked sessions. */
export interface Revocations {
  /** Where to continue reading; opaque outside the store. */
  readonly position: number;
  /** May repeat what was read before. */
  readonly revoked: readonly Revocation[];
}

/**
 * Stores the records of issued tokens. Every method is atomic across processes. Methods reject when the store cannot be
 * reached.
 */
export interface TokenStore {
  /** Stores a new session. `now` is in milliseconds since the epoch. */
  begin(session: TokenSession, now: number): Promise<void>;
  /** The session, unless it has expired or was revoked. */
  find(id: string, now: number): Promise<TokenSession | undefined>;
  /** Replaces the refresh token of a session, if it is the current one. */
  rotate(rotation: Rotation): Promise<RotationOutcome>;
  /**
   * Ends a session, even one that never had a refresh token.
   * @param until when its last access token expires, milliseconds since the epoch
   * @returns false when it was already revoked
   */
  revoke(id: string, until: number, now: number): Promise<boolean>;
  /** Revocations in force that were added after a position; 0 reads all. */
  revocations(after: number, now: number): Promise<Revocations>;
}
