import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';

interface Use {
  readonly socket: TLSSocket;
  requests: number;
  idleSince: number;
  ending: boolean;
}

/** The open HTTP/2 connections, for which Node has no timeouts. */
export class Http2Sessions {
  readonly #idleMs: number;
  readonly #now: () => number;
  readonly #sessions = new Map<ServerHttp2Session, Use>();

  /** @param idleMs how long a connection may be idle, even before its first request */
  constructor(idleMs: number, now: () => number) {
    this.#idleMs = idleMs;
    this.#now = now;
  }

  /** Tracks every new session of the server. */
  follow(server: Http2SecureServer): void {
    // Node creates the session during this event, but does not pass its connection.
    let newest: TLSSocket;
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      newest = socket;
    });
    server.on('session', (session) => this.#opened(session, newest));
  }

  /** Closes sessions without a request for too long. */
  endIdle(moment: number): void {
    for (const [session, use] of this.#sessions) {
      if (use.requests > 0 || moment - use.idleSince <= this.#idleMs) continue;
      // A client that ignores GOAWAY is disconnected at the next check.
      if (use.ending) use.socket.destroy();
      else session.close();
      use.ending = true;
    }
  }

  /**
   * Sends GOAWAY to all clients and closes their connections once pending requests are answered. Resolves when they are
   * closed.
   */
  async close(): Promise<void> {
    const gone = [...this.#sessions.keys()].map((session) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      session.once('close', () => resolve());
      session.close();
      return promise;
    });
    await Promise.all(gone);
  }

  #opened(session: ServerHttp2Session, socket: TLSSocket): void {
    const use: Use = { socket, requests: 0, idleSince: this.#now(), ending: false };
    this.#sessions.set(session, use);
    session.on('stream', (stream) => {
      use.requests++;
      stream.once('close', () => {
        use.requests--;
        use.idleSince = this.#now();
      });
    });
    session.once('close', () => this.#sessions.delete(session));
  }
}
