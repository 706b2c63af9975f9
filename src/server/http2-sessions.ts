import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';

/** The open connections of HTTP/2: Node gives them no timeouts. */
export interface Http2Sessions {
  /** Takes every session of the server from now on. */
  follow(server: Http2SecureServer): void;
  /** Ends those that have carried no request for too long. */
  endIdle(now: number): void;
  /**
   * Tells all clients to go elsewhere, and ends their connections once what has arrived is answered. Resolves when they
   * have gone.
   */
  close(): Promise<void>;
}

interface Use {
  readonly socket: TLSSocket;
  requests: number;
  idleSince: number;
  ending: boolean;
}

/** @param idleMs how long a connection may be without a request, also before the first one */
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
      // Node makes a session while it emits this event, and does not tell on which connection.
      let newest: TLSSocket;
      server.prependListener('secureConnection', (socket: TLSSocket) => {
        newest = socket;
      });
      server.on('session', (session) => opened(session, newest));
    },
    endIdle: (moment) => {
      for (const [session, use] of sessions) {
        if (use.requests > 0 || moment - use.idleSince <= idleMs) continue;
        // A client that does not take its leave loses the connection at the next look.
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
