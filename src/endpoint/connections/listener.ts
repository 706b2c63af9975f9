import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { ServerConfig } from '../../options/config.ts';
import { type Conditions, UNWATCHED } from '../../otel/report/conditions.ts';
import { RdcpError } from '../../wire/errors.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { unrefInterval } from '../../wire/time/clock.ts';
import { withDeadline } from '../../wire/time/deadline.ts';
import type { RequestHandler } from '../app.ts';
import { answerRaw, answerResponse, arrivedTooSlowly } from '../error-answer.ts';
import { createHostPolicy, MAX_HEADER_FIELDS } from '../middleware/headers.ts';
import { applyHostPolicy, peerMatcher } from '../request.ts';
import { assertServable } from '../tls/present.ts';
import type { HandshakeRefusal } from '../tls/tls.ts';
import {
  Connections,
  Http2Sessions,
  InFlight,
  MAX_STREAMS,
  type NetworkServer,
  type PlaceLimits,
} from './connections.ts';

export interface Listener {
  /**
   * May be called again, even after a failure.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the address or a file of `server.tls` cannot be used
   */
  listen(): Promise<{ readonly url: string }>;
  /** Drains in-flight requests up to the deadline, then closes. Until then new requests still reach the handler. */
  close(): Promise<void>;
}

/** Timeouts of connections and of the listener, in milliseconds. */
const TIMEOUTS = {
  /** For the TLS handshake, and for the header of a request. */
  headersMs: 10_000,
  /** For a complete request, and until its answer was read. */
  requestMs: 30_000,
  keepAliveMs: 5000,
  checkMs: 1000,
  closeMs: 10_000,
  reloadMs: 1000,
};
type ListenerTimeouts = Readonly<typeof TIMEOUTS>;

const PLACES: PlaceLimits = { total: 512, perAddress: 64 };

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_REQUESTS_PER_SOCKET = 10_000;

export interface ListenerOptions {
  readonly timeouts?: Partial<ListenerTimeouts>;
  /** Connection limits, from `limits.maxConnections` and `limits.maxConnectionsPerAddress`. @default 512, 64 */
  readonly places?: PlaceLimits;
  /** Hold while the files of `server.tls` have a problem that does not stop the server. @default not watched */
  readonly conditions?: Pick<Conditions, 'watch'>;
  /** Called when a TLS handshake fails for lack of a valid client certificate. @default nothing */
  readonly refused?: (refusal: HandshakeRefusal) => void;
  /** Refuse a self-signed server certificate (RDCP 1.0, Transport). @default false */
  readonly production?: boolean;
}

/**
 * The endpoint's own listener. Neither it nor its connections keep the process alive.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for plain HTTP on an address that is not loopback
 */
export function createListener(
  config: ServerConfig,
  handler: RequestHandler,
  {
    timeouts,
    places = PLACES,
    conditions = { watch: () => UNWATCHED },
    refused = () => undefined,
    production = false,
  }: ListenerOptions = {},
): Listener {
  assertServable(config);
  const limits = { ...TIMEOUTS, ...timeouts };
  const now = () => performance.now();
  const sessions = new Http2Sessions(limits.keepAliveMs, now);
  const connections = new Connections({
    limits: places,
    isProxy: peerMatcher(config.trustedProxies),
    condition: conditions.watch('connections'),
    now,
  });
  const inFlight = new InFlight(limits.requestMs);
  const endings: (() => void)[] = [];
  let listening: Promise<{ url: string }> | undefined;
  let server: NetworkServer | undefined;

  const policy = createHostPolicy(config);
  const onRequest: RequestListener = (req, res) => {
    if (!connections.admitStream(res)) return;
    inFlight.follow(res);
    applyHostPolicy(req, policy);
    handler(req, res);
  };

  async function open(): Promise<NetworkServer> {
    if (config.tls === undefined) return createServer(http1Options(limits), onRequest);
    const { openTls, watchHandshakes } = await import('../tls/tls.ts');
    const tls = await openTls(config.tls, { production, conditions });
    const secured = createTlsServer(limits, tls.context, onRequest);
    sessions.follow(secured);
    watchHandshakes(secured, (refusal) => {
      tls.refused(refusal);
      refused(refusal);
    });
    const disconnect = () => connections.destroy();
    endings.push(tls.follow(secured, disconnect, (look) => unrefInterval(limits.reloadMs, look)));
    return secured;
  }

  async function start(): Promise<{ url: string }> {
    server = await open();
    limitFields(server, onRequest);
    connections.guard(server);
    refuseOnTheSocket(server, inFlight, connections);
    endings.push(
      unrefInterval(limits.checkMs, () => {
        inFlight.endStalled(now());
        sessions.endIdle(now());
        connections.check();
      }),
    );
    const port = await bind(server, config);
    const host = config.host.includes(':') ? `[${config.host}]` : config.host;
    return { url: `${config.tls === undefined ? 'http' : 'https'}://${host}:${port}` };
  }

  function end(): void {
    for (const ending of endings.splice(0)) ending();
  }

  return {
    listen: () => {
      listening ??= start().catch((error: unknown) => {
        listening = undefined;
        server = undefined;
        end();
        throw error;
      });
      return listening;
    },
    close: async () => {
      // A server that is still opening must be closed too.
      if (server === undefined) await listening?.catch(() => undefined);
      const closing = server;
      if (closing === undefined) return;
      await withDeadline(inFlight.answered(), limits.closeMs);
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      closing.close(() => resolve());
      // Requests that arrived meanwhile were refused and are being answered.
      const leaving = [inFlight.answered(), sessions.close()];
      await withDeadline(Promise.all(leaving), Math.min(limits.closeMs, 1000));
      end();
      connections.destroy();
      await closed;
    },
  };
}

/**
 * Limits of one HTTP/2 connection. Beyond `streamReset*` it is closed: opening and resetting streams is cheap for a
 * client and costly for the server (CVE-2023-44487).
 */
const HTTP2_LIMITS = {
  settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES, enableConnectProtocol: false },
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: 200,
  streamResetRate: 33,
};

/** @param context with certificate authorities when client certificates are required */
function createTlsServer(
  timeouts: ListenerTimeouts,
  context: SecureContextOptions,
  onRequest: RequestListener,
): Http2SecureServer {
  const clientsCertified = context.ca !== undefined;
  const server = createSecureServer({
    ...http1Options(timeouts),
    ...HTTP2_LIMITS,
    ...context,
    allowHTTP1: true,
    handshakeTimeout: timeouts.headersMs,
    // Required, not optional: a session opened without a certificate could be resumed as another client.
    requestCert: clientsCertified,
    rejectUnauthorized: clientsCertified,
  });
  // Node's types separate the two versions, but the compatibility layer and Koa treat them alike.
  (server as NetworkServer as Server).on('request', onRequest);
  return server;
}

function http1Options(timeouts: ListenerTimeouts) {
  return {
    // We refuse a missing Host ourselves, with the envelope.
    requireHostHeader: false,
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
  };
}

function limitFields(server: NetworkServer, onRequest: RequestListener): void {
  // Some Node releases silently drop further fields; this limit is above our own, so we can still refuse them.
  Object.assign(server, { maxHeadersCount: 2 * MAX_HEADER_FIELDS, maxRequestsPerSocket: MAX_REQUESTS_PER_SOCKET });
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would answer 417 without the envelope.
  server.on('checkExpectation', onRequest);
}

/** Sends the envelope also for errors that Node detects before the handler runs. */
function refuseOnTheSocket(server: NetworkServer, inFlight: InFlight, connections: Connections): void {
  server.on('clientError', (error: NodeJS.ErrnoException, failed: Duplex) => {
    const refusal = refusalOf(error.code);
    const socket = (error.code === PLAIN_HTTP && connections.socketUnder(failed as Socket)) || failed;
    if (refusal === undefined || !socket.writable) socket.destroy();
    else endWith(socket, refusal.error, refusal.status);
  });
  server.on('connect', (_req, target: Duplex | ServerResponse) => {
    const error = REFUSALS.noProxy();
    // An HTTP/2 stream has its own answer; on HTTP/1.1 there is only the connection.
    if ('setHeader' in target) answerResponse(target, { error, requestId: randomUUID() });
    else endWith(target, error);
  });

  /** An answer now would be mistaken for that of a pending request. */
  function endWith(socket: Duplex, error: RdcpError, status?: number): void {
    if (inFlight.endWithAnswer(socket)) return;
    const unfinished = inFlight.unfinished(socket);
    // A second answer would be mistaken for that of the next request.
    if (unfinished?.writableEnded === true) socket.destroy();
    else answerRaw(socket, { error, requestId: randomUUID(), status }, unfinished?.req);
  }
}

/** Node's code for a plain HTTP request instead of a TLS handshake. */
const PLAIN_HTTP = 'ERR_SSL_HTTP_REQUEST';

/** `undefined` for failures other than HTTP: a broken connection or a failed TLS handshake. */
function refusalOf(code: string | undefined): { error: RdcpError; status: number } | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') return { error: REFUSALS.longHeader(MAX_HEADER_BYTES), status: 431 };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return arrivedTooSlowly();
  if (code === PLAIN_HTTP) return { error: REFUSALS.plainHttp(), status: 400 };
  if (code?.startsWith('HPE_') !== true) return undefined;
  return { error: REFUSALS.notHttp(), status: 400 };
}

/**
 * Connections waiting to be accepted. The kernel drops further ones, and clients retry after a second. The kernel's own
 * limit (somaxconn) applies too.
 */
const BACKLOG = 4096;

function bind(server: NetworkServer, config: ServerConfig): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const failed = (error: NodeJS.ErrnoException) => reject(cannotListen(config, error));
  server.once('error', failed);
  server.listen({ host: config.host, port: config.port, backlog: BACKLOG }, () => {
    server.off('error', failed);
    resolve((server.address() as AddressInfo).port);
  });
  server.unref();
  return promise;
}

function cannotListen({ port }: ServerConfig, error: NodeJS.ErrnoException): RdcpError {
  const problem =
    error.code === 'EADDRINUSE'
      ? `port ${port} is in use: choose another by server.port (RDCP_PORT under register)`
      : `cannot listen (${error.code ?? 'unknown error'})`;
  return new RdcpError('RDCP_CONFIG_INVALID', `configuration: server ${problem}`, {
    details: { field: error.code === 'EADDRINUSE' ? 'server.port' : 'server.host' },
    cause: error,
  });
}
