import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface User {
  readonly name: string;
  readonly role: 'developer' | 'support';
}

export interface Session {
  readonly id: string;
  readonly user: User;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const COOKIE = 'session';
const SESSION_MS = 8 * 3_600_000;

/** The login that this service has had all along: names, passwords, and sessions in a cookie. */
export function createLogin() {
  const accounts = new Map<string, { user: User; salt: Buffer; hash: Buffer }>();
  const sessions = new Map<string, Session>();

  return {
    /** Makes an account. Its password is returned and not kept. */
    register(user: User): string {
      const password = randomBytes(18).toString('base64url');
      const salt = randomBytes(16);
      accounts.set(user.name, { user, salt, hash: scryptSync(password, salt, 32) });
      return password;
    },

    /** The cookie of a new session; `undefined` when name or password is wrong. */
    logIn(name: string, password: string): string | undefined {
      const account = accounts.get(name);
      if (account === undefined) return undefined;
      if (!timingSafeEqual(scryptSync(password, account.salt, 32), account.hash)) return undefined;
      const secret = randomBytes(32).toString('base64url');
      const session = {
        id: randomBytes(9).toString('base64url'),
        user: account.user,
        expiresAt: Date.now() + SESSION_MS,
      };
      sessions.set(secret, session);
      // Strict: no other site can use it, not even for a request to the remote control.
      return `${COOKIE}=${secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${SESSION_MS / 1000}`;
    },

    /** Whose session a request belongs to. */
    sessionOf({ headers }: IncomingMessage): Session | undefined {
      const secret = new RegExp(`(?:^|; )${COOKIE}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1];
      const session = secret === undefined ? undefined : sessions.get(secret);
      return session !== undefined && session.expiresAt > Date.now() ? session : undefined;
    },
  };
}
