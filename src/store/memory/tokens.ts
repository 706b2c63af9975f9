import type { Revocation, TokenSession, TokenStore } from '../token-store.ts';

/** Token records of this process alone. New sessions evict the oldest ones. */
export function createMemoryTokens(maxSessions: number): TokenStore & { clear(): void } {
  const sessions = new Map<string, TokenSession>();
  const revoked = new Map<string, Revocation & { readonly position: number }>();
  let position = 0;

  function live(id: string, now: number): TokenSession | undefined {
    const session = sessions.get(id);
    return session !== undefined && session.expiresAt > now ? session : undefined;
  }

  function revoke(id: string, until: number, now: number): boolean {
    sessions.delete(id);
    for (const [ended, revocation] of revoked) {
      if (revocation.until > now) break;
      revoked.delete(ended);
    }
    if (revoked.has(id)) return false;
    position += 1;
    revoked.set(id, { sessionId: id, until, position });
    return true;
  }

  return {
    async begin(session, now) {
      for (const [id, { expiresAt }] of sessions) {
        if (expiresAt > now && sessions.size < maxSessions) break;
        sessions.delete(id);
      }
      sessions.set(session.id, session);
    },

    async find(id, now) {
      return live(id, now);
    },

    async rotate({ id, expected, next, now, revokedUntil }) {
      const session = live(id, now);
      if (session === undefined) return 'ended';
      if (session.current !== expected) {
        revoke(id, revokedUntil, now);
        return 'reused';
      }
      sessions.set(id, { ...session, current: next });
      return 'rotated';
    },

    async revoke(id, until, now) {
      return revoke(id, until, now);
    },

    async revocations(after, now) {
      const news = [...revoked.values()].filter((each) => each.position > after && each.until > now);
      return { position, revoked: news.map(({ sessionId, until }) => ({ sessionId, until })) };
    },

    clear() {
      sessions.clear();
      revoked.clear();
    },
  };
}
