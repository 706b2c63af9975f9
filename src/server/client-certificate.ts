import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../auth/authenticator.ts';
import { http2Stream } from './http2-request.ts';

const shown = new WeakMap<object, ClientCertificate>();

/**
 * What the client of this connection has shown in the TLS handshake, for all its requests the same. Headers in which
 * proxies pass certificates on are never read: anybody can send them.
 */
export function clientCertificateOf(req: IncomingMessage): ClientCertificate | undefined {
  const connection = http2Stream(req)?.session ?? req.socket;
  const known = shown.get(connection);
  if (known !== undefined) return known;
  const { authorized = false, getPeerX509Certificate } = req.socket as Partial<TLSSocket>;
  const certificate = getPeerX509Certificate?.call(req.socket);
  // Node calls a resumed session authorized although it holds no certificate: without one there is nothing to believe.
  if (certificate === undefined) return undefined;
  const presented = { certificate, authorized };
  shown.set(connection, presented);
  return presented;
}
