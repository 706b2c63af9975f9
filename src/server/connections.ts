import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Condition } from '../conditions.ts';
import { unmapped } from './client-address.ts';
import { http2Stream } from './http2-request.ts';
import { MAX_STREAMS, type NetworkServer } from './network-server.ts';
import { type Occupant, type PlaceLimits, Places } from './places.ts';
import { addressKey } from './rate-limit.ts';
import { answerRaw, arrivedTooSlowly } from './raw-answer.ts';

/** The limits count as kept again when they have not been reached for so long, milliseconds. */
const QUIET_MS = 60_000;

/** Made once: a flood is answered with it, and an error takes the stack down each time. */
const TOO_SLOW = arrivedTooSlowly();

export interface ConnectionsOptions {
  readonly limits: PlaceLimits;
  /** Whether the peer is a proxy, whose connections carry the requests of many clients. */
  readonly isProxy: (socket: Socket) => boolean;
  /** Whether what is written to a socket has to be encrypted. */
  readonly tls: boolean;
  /** Holds while clients want more connections than they may have. */
  readonly condition: Condition;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** The open connections of one server. None of them keeps the process alive. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #places: Places;
  readonly #streams: Places;
  readonly #open = new Set<Connection>();
  /** By what a request names: the TCP socket, that of TLS, or the session of HTTP/2. */
  readonly #byBearer = new WeakMap<object, Connection>();
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { total, perAddress } = options.limits;
    const full = (address: string | undefined) => this.#full(address);
    this.#places = new Places({ total, perAddress }, full);
    // At least what one connection may have: a lone client must not run into this.
    this.#streams = new Places(
      { total: Math.max(total, MAX_STREAMS), perAddress: Math.max(perAddress, MAX_STREAMS) },
      full,
    );
  }

  /** Has the server take connections within the limits only. Any other is closed before anything is made of it. */
  guard(server: NetworkServer): void {
    const accept = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      if (this.#admit(socket.unref())) for (const listener of accept) listener.call(server, socket);
      else socket.destroy();
    });
    server.on('secureConnection', (socket: Socket) => socket.unref());
  }

  /**
   * Takes a request, which keeps its connection until it is answered. False for one of HTTP/2 that was refused: the streams of
   * all connections of an address are limited as connections are.
   */
  request(res: ServerResponse): boolean {
    const connection = this.#of(res.req);
    if (connection === undefined) return true;
    const stream = http2Stream(res);
    const place = stream && new Stream(stream, res, connection.address);
    if (place !== undefined && !this.#streams.take(place)) {
      stream?.close(constants.NGHTTP2_REFUSED_STREAM);
      return false;
    }
    connection.began(res);
    res.once('close', () => {
      connection.ended(res);
      if (place !== undefined) this.#streams.leave(place);
      this.#places.used(connection);
    });
    return true;
  }

  /** The TCP socket under one of TLS: what is written there is not encrypted. */
  socketUnder(socket: Socket): Socket | undefined {
    return this.#under(socket)?.socket;
  }

  /** Looks whether the limits are kept again. */
  check(): void {
    if (this.#options.now() - this.#fullAt > QUIET_MS) this.#options.condition.end();
  }

  destroy(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  #admit(socket: Socket): boolean {
    const { remoteAddress } = socket;
    // It has gone again.
    if (remoteAddress === undefined) return false;
    const address = this.#options.isProxy(socket) ? undefined : addressKey(unmapped(remoteAddress));
    const connection = new Connection(socket, address, this.#options.tls);
    if (!this.#places.take(connection)) return false;
    this.#open.add(connection);
    this.#byBearer.set(socket, connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      this.#places.leave(connection);
    });
    return true;
  }

  #of(req: IncomingMessage): Connection | undefined {
    const bearer = http2Stream(req)?.session ?? req.socket;
    const known = this.#byBearer.get(bearer) ?? this.#under(req.socket);
    if (known !== undefined) this.#byBearer.set(bearer, known);
    return known;
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

class Connection implements Occupant {
  readonly socket: Socket;
  readonly address: string | undefined;
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

  /** Half a header is answered, as when its time is over; on a connection that was used before there may be none. */
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

/** Whether the request is here completely and its answer is not. One that is written and not read keeps no place. */
function isWaiting(res: ServerResponse): boolean {
  const arrived = res.req.complete || http2Stream(res)?.endAfterHeaders === true;
  return arrived && !res.writableEnded;
}
