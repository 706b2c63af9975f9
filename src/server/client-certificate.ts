import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../auth/authenticator.ts';
import { http2Stream } from './http2-request.ts';

const shown = new WeakMap<object, ClientCertificate>();

/**
 * The client certificate of the connection's TLS handshake. Headers in which proxies pass on certificates are never
 * read, because any client can send them.
 */
export function clientCertificateOf(req: IncomingMessage): ClientCertificate | undefined {
  const connection = http2Stream(req)?.session ?? req.socket;
  const known = shown.get(connection);
  if (known !== undefined) return known;
  const { authorized = false, getPeerX509Certificate } = req.socket as Partial<TLSSocket>;
  const certificate = getPeerX509Certificate?.call(req.socket);
  // Node reports a resumed session as authorized even without a certificate, so a certificate is required.
  if (certificate === undefined) return undefined;
  const presented = { certificate, authorized };
  shown.set(connection, presented);
  return presented;
}
