import { createServer, type RequestListener, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { SecureContextOptions } from 'node:tls';
import type { ListenerTimeouts } from './listener.ts';
import { MAX_HEADER_FIELDS } from './middleware/single-headers.ts';

/** A server of HTTP/1.1, or one of TLS that speaks HTTP/2 beside it. */
export type NetworkServer = Server | Http2SecureServer;

export const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 4096;
const MAX_REQUESTS_PER_SOCKET = 10_000;

/**
 * What one HTTP/2 connection may ask of us. Beyond `streamReset*` it is closed: opening and resetting streams costs a
 * client nothing and us a request (CVE-2023-44487).
 */
const HTTP2_LIMITS = {
  settings: { maxConcurrentStreams: 100, maxHeaderListSize: MAX_HEADER_BYTES, enableConnectProtocol: false },
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: 200,
  streamResetRate: 33,
};

export function createPlainServer(timeouts: ListenerTimeouts, onRequest: RequestListener): Server {
  const server = createServer(http1Options(timeouts), onRequest);
  guard(server, onRequest);
  return server;
}

/** @param context with authorities, where clients must show a certificate */
export function createTlsServer(
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
    // Required, not only asked for: whoever may come without a certificate can resume such a session as somebody else.
    requestCert: clientsCertified,
    rejectUnauthorized: clientsCertified,
  });
  // Node's types keep the two versions apart; its compatibility layer, and Koa on it, treat them alike.
  (server as NetworkServer as Server).on('request', onRequest);
  guard(server, onRequest);
  return server;
}

function http1Options(timeouts: ListenerTimeouts) {
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
  server.maxConnections = MAX_CONNECTIONS;
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would answer 417 without the envelope.
  server.on('checkExpectation', onRequest);
}
