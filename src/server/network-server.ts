import { createServer, type RequestListener, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { SecureContextOptions } from 'node:tls';
import { MAX_HEADER_FIELDS } from './middleware/single-headers.ts';

/** A server of HTTP/1.1, or one of TLS that speaks HTTP/2 beside it. */
export type NetworkServer = Server | Http2SecureServer;

export const MAX_HEADER_BYTES = 16 * 1024;
const MAX_REQUESTS_PER_SOCKET = 10_000;
/** Of one HTTP/2 connection at a time. */
export const MAX_STREAMS = 100;

/** How long a connection may take for each part of its business; milliseconds. */
export interface ConnectionTimeouts {
  /** Until the TLS handshake is done, and until the header of a request is complete. @default 10000 */
  readonly headersMs: number;
  /** Until a request is complete, and until an answer has been read. @default 30000 */
  readonly requestMs: number;
  /** Between requests. @default 5000 */
  readonly keepAliveMs: number;
  /** How often connections are looked at for these. @default 1000 */
  readonly checkMs: number;
}

/**
 * What one HTTP/2 connection may ask of us. Beyond `streamReset*` it is closed: opening and resetting streams costs a
 * client nothing and us a request (CVE-2023-44487).
 */
const HTTP2_LIMITS = {
  settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES, enableConnectProtocol: false },
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: 200,
  streamResetRate: 33,
};

export function createPlainServer(timeouts: ConnectionTimeouts, onRequest: RequestListener): Server {
  const server = createServer(http1Options(timeouts), onRequest);
  guard(server, onRequest);
  return server;
}

/** @param context with authorities, where clients must show a certificate */
export function createTlsServer(
  timeouts: ConnectionTimeouts,
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
    // Required, not only asked for: whoever may come without a certificate can resume such a session as somebody else.
    requestCert: clientsCertified,
    rejectUnauthorized: clientsCertified,
  });
  // Node's types keep the two versions apart; its compatibility layer, and Koa on it, treat them alike.
  (server as NetworkServer as Server).on('request', onRequest);
  guard(server, onRequest);
  return server;
}

function http1Options(timeouts: ConnectionTimeouts) {
  return {
    // A missing Host is refused by us, in the envelope.
    requireHostHeader: false,
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
  };
}

function guard(server: NetworkServer, onRequest: RequestListener): void {
  // Some releases of Node drop what is beyond this unseen; being above our own limit, it leaves us enough to refuse.
  Object.assign(server, { maxHeadersCount: 2 * MAX_HEADER_FIELDS, maxRequestsPerSocket: MAX_REQUESTS_PER_SOCKET });
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would answer 417 without the envelope.
  server.on('checkExpectation', onRequest);
}
