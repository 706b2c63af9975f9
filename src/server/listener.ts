import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext } from 'node:tls';
import type { ResolvedConfig } from '../config.ts';
import { RdcpError } from '../errors.ts';
import type { RequestHandler } from './app.ts';
import { applyHostPolicy, createHostPolicy, isLoopback } from './host-policy.ts';
import { MAX_HEADER_FIELDS } from './middleware/single-headers.ts';
import { answerRaw } from './raw-answer.ts';

export interface Listener {
  /** @throws {RdcpError} `RDCP_CONFIG_INVALID` when the address or the certificate cannot be used */
  listen(): Promise<{ readonly url: string }>;
  /** Waits for what is in flight, up to the deadline, and closes. Until then new requests still reach the handler. */
  close(): Promise<void>;
}

/** How long a connection may take for each part of its business; milliseconds. */
export interface ListenerTimeouts {
  /** Until the header of a request is complete. @default 10000 */
  readonly headersMs: number;
  /** Until a request is complete. @default 30000 */
  readonly requestMs: number;
  /** Between requests. @default 5000 */
  readonly keepAliveMs: number;
  /** How often connections are looked at for the two above. @default 1000 */
  readonly checkMs: number;
  /** From `close` until what is still in flight is cut off. @default 10000 */
  readonly closeMs: number;
}

const TIMEOUTS: ListenerTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 5000,
  checkMs: 1000,
  closeMs: 10_000,
};

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 4096;
const MAX_REQUESTS_PER_SOCKET = 10_000;

type ServerConfig = Exclude<ResolvedConfig['server'], false>;

/**
 * The endpoint's own port. Neither it nor its connections keep the process alive.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for plain HTTP on an address that is not loopback
 */
export function createListener(
  config: ServerConfig,
  handler: RequestHandler,
  timeouts: Partial<ListenerTimeouts> = {},
): Listener {
  if (config.tls === undefined && !config.behindTlsProxy && !isLoopback(config.host)) {
    throw new RdcpError(
      'RDCP_CONFIG_INVALID',
      `configuration: server.host ${config.host} is not a loopback address: plain HTTP needs 127.0.0.1, ::1 or localhost; set server.tls, or server.behindTlsProxy where TLS ends before this process`,
      { details: { field: 'server.host' } },
    );
  }
  const limits = { ...TIMEOUTS, ...timeouts };
  const policy = createHostPolicy(config);
  const inFlight = new Set<ServerResponse>();
  let listening: Promise<{ url: string }> | undefined;
  let server: Server | undefined;

  const onRequest: RequestListener = (req, res) => {
    inFlight.add(res);
    res.once('close', () => inFlight.delete(res));
    applyHostPolicy(req, policy);
    handler(req, res);
  };

  return {
    listen: () => {
      listening ??= (async () => {
        server = openServer(config, limits, onRequest);
        refuseOnTheSocket(server, inFlight);
        const port = await bind(server, config);
        const host = config.host.includes(':') ? `[${config.host}]` : config.host;
        return { url: `${config.tls === undefined ? 'http' : 'https'}://${host}:${port}` };
      })();
      return listening;
    },
    close: async () => {
      if (server === undefined) return;
      await answered([...inFlight], limits.closeMs);
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      // What came meanwhile was refused, and is on its way out.
      await answered([...inFlight], Math.min(limits.closeMs, 1000));
      server.closeAllConnections();
      await closed;
    },
  };
}

function openServer(config: ServerConfig, timeouts: ListenerTimeouts, onRequest: RequestListener): Server {
  const options = {
    // A missing Host is refused by us, in the envelope.
    requireHostHeader: false,
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
  };
  const server: Server =
    config.tls === undefined
      ? createHttpServer(options, onRequest)
      : createHttpsServer({ ...options, ...tlsOptions(config.tls), handshakeTimeout: timeouts.headersMs }, onRequest);
  // Some releases of Node drop what is beyond this unseen; being above our own limit, it leaves us enough to refuse.
  server.maxHeadersCount = 2 * MAX_HEADER_FIELDS;
  server.maxConnections = MAX_CONNECTIONS;
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would answer 417 without the envelope.
  server.on('checkExpectation', onRequest);
  const unref = (socket: Socket) => socket.unref();
  server.on('connection', unref);
  server.on('secureConnection', unref);
  return server;
}

/** What Node refuses before there is a request for the handler gets the envelope too. */
function refuseOnTheSocket(server: Server, inFlight: ReadonlySet<ServerResponse>): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const refusal = refusalOf(error.code);
    // An answer now would be taken for that to an earlier request which is still being worked on.
    const taken = [...inFlight].some((res) => res.socket === socket && (res.headersSent || res.req.complete));
    if (refusal === undefined || taken || !socket.writable) socket.destroy();
    else answerRaw(socket, refusal.error, randomUUID(), refusal.status);
  });
  server.on('connect', (_req, socket: Duplex) => {
    answerRaw(socket, new RdcpError('RDCP_METHOD_NOT_ALLOWED', 'This server is no proxy'), randomUUID());
  });
}

/** `undefined` for what is no HTTP failure: a connection that broke, or a TLS handshake that failed. */
function refusalOf(code: string | undefined): { error: RdcpError; status: number } | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `The header of a request must be at most ${MAX_HEADER_BYTES} bytes`;
    return { error: new RdcpError('RDCP_REQUEST_TOO_LARGE', message), status: 431 };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { error: new RdcpError('RDCP_TIMEOUT', 'The request took too long to arrive'), status: 408 };
  }
  if (code?.startsWith('HPE_') !== true) return undefined;
  return { error: new RdcpError('RDCP_MALFORMED_REQUEST', 'The request is not valid HTTP'), status: 400 };
}

/** Resolves once every response has been sent, or the deadline has passed. */
async function answered(responses: readonly ServerResponse[], deadlineMs: number): Promise<void> {
  if (responses.length === 0) return;
  // For as long as the deadline lets them, these may keep the process alive: they were accepted.
  const { promise: expired, resolve: expire } = Promise.withResolvers<void>();
  const timer = setTimeout(expire, deadlineMs);
  const sent = responses.map((res) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    res.socket?.ref();
    if (!res.headersSent) res.setHeader('Connection', 'close');
    res.once('close', () => resolve());
    return promise;
  });
  await Promise.race([Promise.all(sent), expired]);
  clearTimeout(timer);
}

/** Resolves with the port. */
function bind(server: Server, config: ServerConfig): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const failed = (error: NodeJS.ErrnoException) => reject(cannotListen(config, error));
  server.once('error', failed);
  server.listen({ host: config.host, port: config.port }, () => {
    server.off('error', failed);
    resolve((server.address() as AddressInfo).port);
  });
  server.unref();
  return promise;
}

function tlsOptions({ certFile, keyFile }: NonNullable<ServerConfig['tls']>) {
  const options = {
    minVersion: 'TLSv1.3',
    cert: readPem(certFile, 'server.tls.certFile'),
    key: readPem(keyFile, 'server.tls.keyFile'),
  } as const;
  try {
    createSecureContext(options);
  } catch (error) {
    throw new RdcpError('RDCP_CONFIG_INVALID', 'configuration: server.tls is not a PEM certificate and its key', {
      details: { field: 'server.tls' },
      cause: error,
    });
  }
  return options;
}

function readPem(file: string, field: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new RdcpError('RDCP_CONFIG_INVALID', `configuration: ${field} cannot be read (${code})`, {
      details: { field },
      cause: error,
    });
  }
}

function cannotListen({ port }: ServerConfig, error: NodeJS.ErrnoException): RdcpError {
  const problem =
    error.code === 'EADDRINUSE' ? `port ${port} is in use` : `cannot listen (${error.code ?? 'unknown error'})`;
  return new RdcpError('RDCP_CONFIG_INVALID', `configuration: server ${problem}`, {
    details: { field: error.code === 'EADDRINUSE' ? 'server.port' : 'server.host' },
    cause: error,
  });
}
