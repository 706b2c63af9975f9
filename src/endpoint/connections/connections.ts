import { randomUUID } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import { constants, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Condition } from '../../otel/report/conditions.ts';
import { answerResponse, arrivedTooSlowly } from '../error-answer.ts';
import { addressKey, cutOff, endConnection, http2Stream, unmapped } from '../request.ts';

/** An HTTP/1.1 server, or a TLS server that also speaks HTTP/2. */
export type NetworkServer = Server | Http2SecureServer;

/** Concurrent streams of one HTTP/2 connection. */
export const MAX_STREAMS = 100;
/** The connection condition ends when no limit was reached for this long, in milliseconds. */
const QUIET_MS = 60_000;

export interface PlaceLimits {
  readonly total: number;
  readonly perAddress: number;
}

interface ConnectionsOptions {
  readonly limits: PlaceLimits;
  /** Whether the peer is a proxy, whose connections carry requests of many clients. */
  readonly isProxy: (socket: Socket) => boolean;
  /** Holds while clients exceed the connection limits. */
  readonly condition: Condition;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/**
 * The open connections of one server. They do not keep the process alive. Beyond the limits new connections are closed, and
 * new HTTP/2 streams refused; Node's timeouts free the places of idle ones.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #places: Places;
  readonly #streams: Places;
  readonly #open = new Set<Socket>();
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { total, perAddress } = options.limits;
    this.#places = new Places({ total, perAddress });
    // At least the limit of one connection, so that a single client never exceeds it.
    this.#streams = new Places({ total: Math.max(total, MAX_STREAMS), perAddress: Math.max(perAddress, MAX_STREAMS) });
  }

  /** Enforces the limits on a server. Excess connections are closed before any processing. */
  guard(server: NetworkServer): void {
    const accept = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      if (this.#admit(socket.unref())) for (const listener of accept) listener.call(server, socket);
      else socket.destroy();
    });
    server.on('secureConnection', (socket: Socket) => socket.unref());
  }

  /** Takes a place for an HTTP/2 stream, or refuses it. HTTP/1.1 has one request at a time on each connection. */
  admitStream(res: ServerResponse): boolean {
    const stream = http2Stream(res);
    if (stream === undefined || this.#take(this.#streams, res.req.socket, res)) return true;
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return false;
  }

  /** The TCP socket below a TLS socket, for writing unencrypted. */
  socketUnder({ remotePort, remoteAddress }: Socket): Socket | undefined {
    for (const socket of this.#open)
      if (socket.remotePort === remotePort && socket.remoteAddress === remoteAddress) return socket;
    return undefined;
  }

  check(): void {
    if (this.#options.now() - this.#fullAt > QUIET_MS) this.#options.condition.end();
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #admit(socket: Socket): boolean {
    // Without an address the connection has already closed.
    if (socket.remoteAddress === undefined || !this.#take(this.#places, socket, socket)) return false;
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    return true;
  }

  /** Takes a place for the address of a connection until `holder` closes. Returns false when there is none. */
  #take(places: Places, connection: Socket, holder: Socket | ServerResponse): boolean {
    const { isProxy, condition, limits, now } = this.#options;
    const { remoteAddress = '' } = connection;
    const address = isProxy(connection) ? undefined : addressKey(unmapped(remoteAddress));
    const exceeded = places.take(address);
    if (exceeded === undefined) {
      holder.once('close', () => places.leave(address));
      return true;
    }
    this.#fullAt = now();
    condition.begin(
      exceeded === 'total'
        ? `more than ${limits.total} connections (limits.maxConnections)`
        : `more than ${limits.perAddress} connections from ${address} (limits.maxConnectionsPerAddress)`,
    );
    return false;
  }
}

/** A bounded number of places. Without an address, as for a proxy, only the total counts. */
class Places {
  readonly #limits: PlaceLimits;
  readonly #taken = new Map<string | undefined, number>();
  #size = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Returns the limit that leaves no place; `undefined` when one was taken. */
  take(address: string | undefined): keyof PlaceLimits | undefined {
    const taken = this.#taken.get(address) ?? 0;
    if (address !== undefined && taken >= this.#limits.perAddress) return 'perAddress';
    if (this.#size >= this.#limits.total) return 'total';
    this.#taken.set(address, taken + 1);
    this.#size += 1;
    return undefined;
  }

  leave(address: string | undefined): void {
    const taken = (this.#taken.get(address) ?? 1) - 1;
    if (taken === 0) this.#taken.delete(address);
    else this.#taken.set(address, taken);
    this.#size -= 1;
  }
}

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

/** When a request was seen in its stages, on a monotonic clock. */
interface Times {
  seenAt?: number;
  /** When the answer was first seen complete but not sent. */
  answeredAt?: number;
}

/** The requests whose answers have not been sent completely, and how they end. */
export class InFlight {
  readonly #requests = new Map<ServerResponse, Times>();
  readonly #requestMs: number;
  readonly #ending = new WeakSet<ServerResponse>();
  /** The newest one of each connection, also when it was answered. */
  readonly #newest = new WeakMap<Duplex, ServerResponse>();

  /** @param requestMs time limit for receiving a request, and for sending an answer */
  constructor(requestMs: number) {
    this.#requestMs = requestMs;
  }

  follow(res: ServerResponse): void {
    this.#requests.set(res, {});
    this.#newest.set(res.req.socket, res);
    res.once('close', () => this.#requests.delete(res));
  }

  /**
   * Closes the connection after its last pending answer, and reads nothing more from it. Returns false when no answer
   * is pending.
   */
  endWithAnswer(socket: Duplex): boolean {
    const last = [...this.#requests.keys()]
      .filter(({ req, headersSent }) => req.socket === socket && (headersSent || req.complete))
      .at(-1);
    if (last === undefined) return false;
    if (!this.#ending.has(last)) {
      this.#ending.add(last);
      endConnection(last);
      last.once('finish', () => last.req.socket.destroySoon());
    }
    return true;
  }

  /** The response to the request on a connection that has not arrived completely. */
  unfinished(socket: Duplex): ServerResponse | undefined {
    const newest = this.#newest.get(socket);
    return newest?.req.complete === false ? newest : undefined;
  }

  /** Closes connections with stalled requests, and with answers that the client does not read. */
  endStalled(moment: number): void {
    for (const [res, times] of this.#requests) {
      times.seenAt ??= moment;
      if (res.writableEnded) times.answeredAt ??= moment;
      if (times.answeredAt !== undefined && moment - times.answeredAt > this.#requestMs) cutOff(res);
      // On HTTP/1.1 Node enforces the request timeout itself.
      else if (http2Stream(res) !== undefined && moment - times.seenAt > this.#requestMs && !res.req.complete) {
        if (res.headersSent) cutOff(res);
        else answerResponse(res, { ...arrivedTooSlowly(), requestId: randomUUID() });
      }
    }
  }

  /** Resolves once every answer was sent. Their connections are closed. */
  async answered(): Promise<void> {
    const sent = [...this.#requests.keys()].map((res) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      (http2Stream(res)?.session ?? res.socket)?.ref();
      endConnection(res);
      res.once('close', () => resolve());
      return promise;
    });
    await Promise.all(sent);
  }
}
