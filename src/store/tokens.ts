import type { RecordStore } from './records.ts';

/** Everything issued from one grant. It lives until it expires or is revoked. */
export interface TokenSession {
  /** Appears in its access tokens and in the audit trail. */
  readonly id: string;
  /** SHA-256 of the current refresh token, base64url. The token itself is stored nowhere. */
  readonly current: string;
  /** Data of the issuer. */
  readonly data: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface Rotation {
  readonly id: string;
  /** Hash of the presented token. */
  readonly expected: string;
  readonly next: string;
  /** Wall time, milliseconds since the epoch. */
  readonly now: number;
  /** When the session's last access token expires, in case it is revoked; milliseconds since the epoch. */
  readonly revokedUntil: number;
}

export type RotationOutcome =
  /** `next` is now current. */
  | 'rotated'
  /** The token had been replaced before. The session was revoked in the same step. */
  | 'reused'
  /** The session no longer exists. Nothing was changed. */
  | 'ended';

/** A session whose access tokens must be rejected, although they have not expired. */
export interface Revocation {
  readonly sessionId: string;
  /** When its last access token expires; milliseconds since the epoch. */
  readonly until: number;
}

/** The records of issued tokens. Every change is atomic across processes. */
export class TokenRecords {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  async begin({ id, expiresAt, ...content }: TokenSession, now: number): Promise<void> {
    await this.#records.write([{ kind: 'session', key: id, record: { value: encode(content), expiresAt } }], now);
  }

  async find(id: string, now: number): Promise<TokenSession | undefined> {
    const record = (await this.#records.get('session', [id], now)).get(id);
    return record && decode(id, record);
  }

  /** Replaces the refresh token of a session, if it is the current one. */
  async rotate({ id, expected, next, now, revokedUntil }: Rotation): Promise<RotationOutcome> {
    const session = { kind: 'session', key: id } as const;
    for (;;) {
      const found = await this.find(id, now);
      if (found === undefined) return 'ended';
      // It was sent twice, and took effect the first time.
      if (found.current === next) return 'rotated';
      const isReused = found.current !== expected;
      const { expiresAt } = found;
      const given = { ...session, expected: encode(found) };
      const writes = isReused
        ? [given, { kind: 'revocation', key: id, record: { value: '', expiresAt: revokedUntil } } as const]
        : [{ ...given, record: { value: encode({ ...found, current: next }), expiresAt } }];
      if (await this.#records.write(writes, now)) return isReused ? 'reused' : 'rotated';
      // Another use of the session was faster.
    }
  }

  /**
   * Ends a session, even one that never had a refresh token.
   * @param until when its last access token expires, milliseconds since the epoch
   * @returns false when it was already revoked
   */
  revoke(id: string, until: number, now: number): Promise<boolean> {
    const revocation = {
      kind: 'revocation',
      key: id,
      record: { value: '', expiresAt: until },
      expected: null,
    } as const;
    return this.#records.write([{ kind: 'session', key: id }, revocation], now);
  }

  async isRevoked(ids: readonly string[], now: number): Promise<boolean> {
    return (await this.#records.get('revocation', ids, now)).size > 0;
  }

  /** Revocations in force that were added after a position; 0 reads all. */
  async revocations(after: number, now: number) {
    const { position, records } = await this.#records.list('revocation', after, now);
    const revoked = records.map(({ key, expiresAt }): Revocation => ({ sessionId: key, until: expiresAt }));
    return { position, revoked };
  }
}

function encode({ current, data }: Pick<TokenSession, 'current' | 'data'>): string {
  return `${current}\n${data}`;
}

function decode(id: string, { value, expiresAt }: { value: string; expiresAt: number }): TokenSession {
  const line = value.indexOf('\n');
  return { id, current: value.slice(0, Math.max(0, line)), data: value.slice(line + 1), expiresAt };
}
