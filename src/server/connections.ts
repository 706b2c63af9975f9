import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Condition } from '../conditions.ts';
import { addressKey, unmapped } from './client-address.ts';
import { http2Stream } from './http2-request.ts';
import type { Times } from './in-flight.ts';
import { MAX_STREAMS, type NetworkServer } from './network-server.ts';
import { type Occupant, type PlaceLimits, Places } from './places.ts';
import { answerRaw, arrivedTooSlowly } from './raw-answer.ts';

/** The connection condition ends when no limit was reached for this long, in milliseconds. */
const QUIET_MS = 60_000;

/** Created once: creating an error captures the stack, which is costly in a flood. */
const TOO_SLOW = arrivedTooSlowly();

export interface ConnectionsOptions {
  readonly limits: PlaceLimits;
  /** Whether the peer is a proxy, whose connections carry requests of many clients. */
  readonly isProxy: (socket: Socket) => boolean;
  /** Whether connections use TLS. */
  readonly tls: boolean;
  /** Holds while clients exceed the connection limits. */
  readonly condition: Condition;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/** The open connections of one server. They do not keep the process alive. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #places: Places;
  readonly #streams: Places;
  readonly #open = new Set<Connection>();
  readonly #requests = new Map<ServerResponse, Times>();
  /**
   * By the object that a request refers to: the TCP socket, the TLS socket or the HTTP/2 session. No WeakMap: V8's minor
   * collections keep the values of one, which refer to the socket, so each connection lived until the next major one.
   */
  readonly #byBearer = new Map<object, Connection>();
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { total, perAddress } = options.limits;
    const full = (address: string | undefined) => this.#full(address);
    this.#places = new Places({ total, perAddress }, full);
    // At least the limit of one connection, so that a single client never exceeds it.
    this.#streams = new Places(
      { total: Math.max(total, MAX_STREAMS), perAddress: Math.max(perAddress, MAX_STREAMS) },
      full,
    );
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

  /** Requests whose answers have not been sent completely. */
  get requests(): ReadonlyMap<ServerResponse, Times> {
    return this.#requests;
  }

  /**
   * Registers a request, which keeps its connection until it is answered. Returns false when an HTTP/2 stream was
   * refused: streams are limited per address, as connections are.
   */
  request(res: ServerResponse): boolean {
    const connection = this.#of(res.req);
    const stream = connection && http2Stream(res);
    const place = stream && new Stream(stream, res, connection.address);
    if (place !== undefined && !this.#streams.take(place)) {
      stream?.close(constants.NGHTTP2_REFUSED_STREAM);
      return false;
    }
    this.#requests.set(res, { arrivedAt: this.#options.now() });
    connection?.began(res);
    res.once('close', () => {
      this.#requests.delete(res);
      connection?.ended(res);
      if (place !== undefined) this.#streams.leave(place);
      if (connection !== undefined) this.#places.used(connection);
    });
    return true;
  }

  /** The TCP socket below a TLS socket, for writing unencrypted. */
  socketUnder(socket: Socket): Socket | undefined {
    return this.#under(socket)?.socket;
  }

  /** Ends the condition once the limits hold again. */
  check(): void {
    if (this.#options.now() - this.#fullAt > QUIET_MS) this.#options.condition.end();
  }

  destroy(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  #admit(socket: Socket): boolean {
    const { remoteAddress } = socket;
    // The connection has already closed.
    if (remoteAddress === undefined) return false;
    const address = this.#options.isProxy(socket) ? undefined : addressKey(unmapped(remoteAddress));
    const connection = new Connection(socket, address, this.#options.tls);
    if (!this.#places.take(connection)) return false;
    this.#open.add(connection);
    this.#know(socket, connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      for (const bearer of connection.bearers) this.#byBearer.delete(bearer);
      this.#places.leave(connection);
      forgetListeners(socket);
    });
    return true;
  }

  #of(req: IncomingMessage): Connection | undefined {
    const bearer = http2Stream(req)?.session ?? req.socket;
    const known = this.#byBearer.get(bearer);
    if (known !== undefined) return known;
    const connection = this.#under(req.socket);
    if (connection !== undefined) this.#know(bearer, connection);
    return connection;
  }

  #know(bearer: object, connection: Connection): void {
    this.#byBearer.set(bearer, connection);
    connection.bearers.push(bearer);
  }

  #under({ remotePort, remoteAddress }: Socket): Connection | undefined {
    for (const connection of this.#open) {
      if (connection.socket.remotePort === remotePort && connection.socket.remoteAddress === remoteAddress)
        return connection;
    }
    return undefined;
  }

  #full(address: string | undefined): void {
    const { condition, limits, now } = this.#options;
    this.#fullAt = now();
    condition.begin(
      address === undefined
        ? `more than ${limits.total} connections (limits.maxConnections)`
        : `more than ${limits.perAddress} connections from ${address} (limits.maxConnectionsPerAddress)`,
    );
  }
}

/**
 * Releases what the listeners of a closed socket refer to, most of all Node's state of its requests. Minor collections
 * keep a closed socket, because V8 takes its handle in the system for one in use, so in a flood of connections what it
 * refers to would be copied until the next major collection. Listeners that are due still run: `emit` has its own list.
 */
function forgetListeners(socket: Socket): void {
  socket.removeAllListeners().on('error', ignore);
}

const ignore = () => undefined;

class Connection implements Occupant {
  readonly socket: Socket;
  readonly address: string | undefined;
  /** What requests of this connection refer to. */
  readonly bearers: object[] = [];
  readonly #tls: boolean;
  readonly #requests = new Set<ServerResponse>();
  #used = false;

  constructor(socket: Socket, address: string | undefined, tls: boolean) {
    this.socket = socket;
    this.address = address;
    this.#tls = tls;
  }

  began(res: ServerResponse): void {
    this.#used = true;
    this.#requests.add(res);
  }

  ended(res: ServerResponse): void {
    this.#requests.delete(res);
  }

  isWorking(): boolean {
    for (const res of this.#requests) if (isWaiting(res)) return true;
    return false;
  }

  /** Answers an incomplete header as a timeout would; a reused connection may have none. */
  evict(): void {
    const { socket } = this;
    if (this.#used || this.#tls || socket.bytesRead === 0) socket.destroy();
    else answerRaw(socket, { ...TOO_SLOW, requestId: randomUUID() });
  }
}

class Stream implements Occupant {
  readonly address: string | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #res: ServerResponse;

  constructor(stream: ServerHttp2Stream, res: ServerResponse, address: string | undefined) {
    this.address = address;
    this.#stream = stream;
    this.#res = res;
  }

  isWorking(): boolean {
    return isWaiting(this.#res);
  }

  evict(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** Whether a complete request waits for its answer. A written but unread answer does not hold a place. */
function isWaiting(res: ServerResponse): boolean {
  const arrived = res.req.complete || http2Stream(res)?.endAfterHeaders === true;
  return arrived && !res.writableEnded;
}
