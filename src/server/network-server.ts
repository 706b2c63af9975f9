import { createServer, type RequestListener, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { SecureContextOptions } from 'node:tls';
import { MAX_HEADER_FIELDS } from './middleware/headers.ts';

/** An HTTP/1.1 server, or a TLS server that also speaks HTTP/2. */
export type NetworkServer = Server | Http2SecureServer;

export const MAX_HEADER_BYTES = 16 * 1024;
const MAX_REQUESTS_PER_SOCKET = 10_000;
/** Concurrent streams of one HTTP/2 connection. */
export const MAX_STREAMS = 100;

/** Timeouts of a connection, in milliseconds. */
export interface ConnectionTimeouts {
  /** For the TLS handshake, and for the header of a request. @default 10000 */
  readonly headersMs: number;
  /** For a complete request, and until its answer was read. @default 30000 */
  readonly requestMs: number;
  /** Between requests. @default 5000 */
  readonly keepAliveMs: number;
  /** How often timeouts are checked. @default 1000 */
  readonly checkMs: number;
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

export function createPlainServer(timeouts: ConnectionTimeouts, onRequest: RequestListener): Server {
  const server = createServer(http1Options(timeouts), onRequest);
  guard(server, onRequest);
  return server;
}

/** @param context with certificate authorities when client certificates are required */
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
    // Required, not optional: a session opened without a certificate could be resumed as another client.
    requestCert: clientsCertified,
    rejectUnauthorized: clientsCertified,
  });
  // Node's types separate the two versions, but the compatibility layer and Koa treat them alike.
  (server as NetworkServer as Server).on('request', onRequest);
  guard(server, onRequest);
  return server;
}

function http1Options(timeouts: ConnectionTimeouts) {
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

function guard(server: NetworkServer, onRequest: RequestListener): void {
  // Some Node releases silently drop further fields; this limit is above our own, so we can still refuse them.
  Object.assign(server, { maxHeadersCount: 2 * MAX_HEADER_FIELDS, maxRequestsPerSocket: MAX_REQUESTS_PER_SOCKET });
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would answer 417 without the envelope.
  server.on('checkExpectation', onRequest);
}
