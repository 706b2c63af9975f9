import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { constants, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Condition } from '../../report/conditions.ts';
import { answerRaw, arrivedTooSlowly } from '../error-answer.ts';
import type { HostPolicy } from '../middleware/headers.ts';
import { addressKey, applyHostPolicy, http2Stream, unmapped } from '../request.ts';
import type { Times } from './in-flight.ts';

/** An HTTP/1.1 server, or a TLS server that also speaks HTTP/2. */
export type NetworkServer = Server | Http2SecureServer;

/** Concurrent streams of one HTTP/2 connection. */
export const MAX_STREAMS = 100;
/** The connection condition ends when no limit was reached for this long, in milliseconds. */
const QUIET_MS = 60_000;

interface ConnectionsOptions {
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
  /** Connections by the object that a request refers to: the TCP socket, the TLS socket or the HTTP/2 session. */
  readonly #byBearer = new WeakMap<object, Connection>();
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

  /** Registers each request and marks it with the host policy before it is handled. */
  before(handler: RequestListener, policy: HostPolicy): RequestListener {
    return (req, res) => {
      if (!this.#register(res)) return;
      applyHostPolicy(req, policy);
      handler(req, res);
    };
  }

  /**
   * A request keeps its connection until it is answered. Returns false when an HTTP/2 stream was refused: streams are
   * limited per address, as connections are.
   */
  #register(res: ServerResponse): boolean {
    const connection = this.#of(res.req);
    const stream = connection && http2Stream(res);
    const place = stream && new Stream(stream, res, connection.address);
    if (place !== undefined && !this.#streams.take(place)) {
      stream?.close(constants.NGHTTP2_REFUSED_STREAM);
      return false;
    }
    this.#requests.set(res, {});
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
    this.#byBearer.set(socket, connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      this.#places.leave(connection);
    });
    return true;
  }

  #of(req: IncomingMessage): Connection | undefined {
    const bearer = http2Stream(req)?.session ?? req.socket;
    const known = this.#byBearer.get(bearer);
    if (known !== undefined) return known;
    const connection = this.#under(req.socket);
    if (connection !== undefined) this.#byBearer.set(bearer, connection);
    return connection;
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
  /** Bytes read when the last request ended. */
  #readBefore = 0;

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
    this.#readBefore = this.socket.bytesRead;
  }

  isWorking(): boolean {
    for (const res of this.#requests) if (isWaiting(res)) return true;
    return false;
  }

  isArriving(): boolean {
    return this.socket.bytesRead !== this.#readBefore;
  }

  /** Answers an incomplete header as a timeout would; a reused connection may have none. */
  evict(): void {
    const { socket } = this;
    if (this.#used || this.#tls || socket.bytesRead === 0) socket.destroy();
    else answerRaw(socket, { ...arrivedTooSlowly(), requestId: randomUUID() });
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

  /** There are no idle streams to close instead: each has sent its header. */
  isArriving(): boolean {
    return false;
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

/** Occupies a place: a connection or an HTTP/2 stream. */
export interface Occupant {
  /** The address it counts against; `undefined` for none. */
  readonly address: string | undefined;
  /** Whether a complete request waits for its answer. Such an occupant is never evicted. */
  isWorking(): boolean;
  /** Whether a part of a request has come, and the rest may be on its way. */
  isArriving(): boolean;
  /** Closes it and frees its place. */
  evict(): void;
}

export interface PlaceLimits {
  readonly total: number;
  readonly perAddress: number;
}

/**
 * A bounded number of places. When full, a newcomer evicts the longest idle occupant: of its own address if that is
 * over its share, otherwise of the address with the most places. So an address with few connections keeps them, however
 * many others come. In the share of an address, requests that are arriving keep up to half of the places: a flood of
 * idle connections takes none of those, and one of half requests leaves the other half.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #full: (address: string | undefined) => void;
  /** Occupants by address; each set is ordered by last use, oldest first. */
  readonly #taken = new Map<string | undefined, Set<Occupant>>();
  #size = 0;

  /** @param full called when there is no free place, with the newcomer's address if that is over its share */
  constructor(limits: PlaceLimits, full: (address: string | undefined) => void) {
    this.#limits = limits;
    this.#full = full;
  }

  /** Returns whether the newcomer got a place. */
  take(newcomer: Occupant): boolean {
    const { address } = newcomer;
    const { total, perAddress } = this.#limits;
    const own = this.#taken.get(address);
    if (address !== undefined && own !== undefined && own.size >= perAddress) {
      this.#full(address);
      if (!this.#evictFrom(own, perAddress / 2)) return false;
    } else if (this.#size >= total) {
      this.#full(undefined);
      if (!this.#evictFromLargest()) return false;
    }
    let occupants = this.#taken.get(address);
    if (occupants === undefined) {
      occupants = new Set();
      this.#taken.set(address, occupants);
    }
    occupants.add(newcomer);
    this.#size += 1;
    return true;
  }

  /** Marks the occupant as used last. */
  used(occupant: Occupant): void {
    const occupants = this.#taken.get(occupant.address);
    if (occupants?.delete(occupant) === true) occupants.add(occupant);
  }

  leave(occupant: Occupant): void {
    const occupants = this.#taken.get(occupant.address);
    if (occupants?.delete(occupant) !== true) return;
    this.#size -= 1;
    if (occupants.size === 0) this.#taken.delete(occupant.address);
  }

  /** Occupants without an address, which are proxies, come last. */
  #evictFromLargest(): boolean {
    const bySize = [...this.#taken].sort(([address, { size }], [other, { size: otherSize }]) =>
      address === undefined ? 1 : other === undefined ? -1 : otherSize - size,
    );
    return bySize.some(([, occupants]) => this.#evictFrom(occupants, 0));
  }

  /** @param spared how many occupants whose requests are arriving keep their places */
  #evictFrom(occupants: ReadonlySet<Occupant>, spared: number): boolean {
    let arriving = 0;
    for (const occupant of occupants) {
      if (occupant.isWorking()) continue;
      if (arriving + 1 <= spared && occupant.isArriving()) {
        arriving += 1;
        continue;
      }
      this.leave(occupant);
      occupant.evict();
      return true;
    }
    return false;
  }
}
