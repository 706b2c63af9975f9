import { constants, type ServerHttp2Session } from 'node:http2';

/** The open connections of HTTP/2: they have no timeouts of their own. */
export interface Http2Sessions {
  opened(session: ServerHttp2Session): void;
  /** Ends those that have carried no request for too long. */
  endIdle(now: number): void;
  /** Tells clients to send what comes next elsewhere. What is on its way is still served. */
  announceEnd(): void;
  /** Ends all of them once their requests are answered. */
  close(): void;
}

interface Use {
  requests: number;
  idleSince: number;
  ending: boolean;
}

/** The last stream id there can be: nothing that is on its way counts as refused (RFC 9113, section 6.8). */
const LAST_STREAM_ID = 2 ** 31 - 1;

/** @param idleMs how long a connection may be without a request, also before the first one */
export function createHttp2Sessions(idleMs: number, now: () => number): Http2Sessions {
  const sessions = new Map<ServerHttp2Session, Use>();
  return {
    opened: (session) => {
      const use: Use = { requests: 0, idleSince: now(), ending: false };
      sessions.set(session, use);
      session.on('stream', (stream) => {
        use.requests++;
        stream.once('close', () => {
          use.requests--;
          use.idleSince = now();
        });
      });
      session.once('close', () => sessions.delete(session));
    },
    endIdle: (moment) => {
      for (const [session, use] of sessions) {
        if (use.requests > 0 || moment - use.idleSince <= idleMs) continue;
        // A client that does not take its leave loses the connection at the next look.
        if (use.ending) session.destroy();
        else session.close();
        use.ending = true;
      }
    },
    announceEnd: () => {
      for (const session of sessions.keys()) session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID);
    },
    close: () => {
      for (const session of sessions.keys()) session.close();
    },
  };
}
