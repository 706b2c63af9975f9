import type { Server, ServerResponse } from 'node:http';
import { constants, type Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import type { Condition } from '../../otel/report/conditions.ts';
import { addressKey, http2Stream, unmapped } from '../request.ts';

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

  /** Ends the condition once the limits hold again. */
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
