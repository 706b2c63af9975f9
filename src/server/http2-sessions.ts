import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';

/** The open HTTP/2 connections, for which Node has no timeouts. */
export interface Http2Sessions {
  /** Tracks every new session of the server. */
  follow(server: Http2SecureServer): void;
  /** Closes sessions without a request for too long. */
  endIdle(now: number): void;
  /**
   * Sends GOAWAY to all clients and closes their connections once pending requests are answered. Resolves when they are
   * closed.
   */
  close(): Promise<void>;
}

interface Use {
  readonly socket: TLSSocket;
  requests: number;
  idleSince: number;
  ending: boolean;
}

/** @param idleMs how long a connection may be idle, even before its first request */
export function createHttp2Sessions(idleMs: number, now: () => number): Http2Sessions {
  const sessions = new Map<ServerHttp2Session, Use>();

  function opened(session: ServerHttp2Session, socket: TLSSocket): void {
    const use: Use = { socket, requests: 0, idleSince: now(), ending: false };
    sessions.set(session, use);
    session.on('stream', (stream) => {
      use.requests++;
      stream.once('close', () => {
        use.requests--;
        use.idleSince = now();
      });
    });
    session.once('close', () => sessions.delete(session));
  }

  return {
    follow: (server) => {
      // Node creates the session during this event, but does not pass its connection.
      let newest: TLSSocket;
      server.prependListener('secureConnection', (socket: TLSSocket) => {
        newest = socket;
      });
      server.on('session', (session) => opened(session, newest));
    },
    endIdle: (moment) => {
      for (const [session, use] of sessions) {
        if (use.requests > 0 || moment - use.idleSince <= idleMs) continue;
        // A client that ignores GOAWAY is disconnected at the next check.
        if (use.ending) use.socket.destroy();
        else session.close();
        use.ending = true;
      }
    },
    close: async () => {
      const gone = [...sessions.keys()].map((session) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        session.once('close', () => resolve());
        session.close();
        return promise;
      });
      await Promise.all(gone);
    },
  };
}
