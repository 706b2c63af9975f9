import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2Session } from 'node:http2';
import { withDeadline } from '../deadline.ts';
import { cameThroughProxy } from './client-address.ts';
import { endConnection, http2Stream } from './http2-request.ts';
import { discard, hasBody } from './middleware/body.ts';
import { hostPolicyOf } from './middleware/host-and-origin.ts';

/** How long to wait for the rest of a body, in milliseconds. */
const REST_OF_BODY_MS = 500;
/** A new HTTP/2 connection costs a TLS handshake, which is more than some refusals cost. */
const REFUSALS_PER_SESSION = 10;

const refusals = new WeakMap<Http2Session, number>();

/**
 * Closes the connection after refusing an unauthenticated request on our own listener. A flooding client must then
 * reconnect and queue with others, and cannot fill every turn of the event loop.
 */
export async function endWithRefusal(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (hostPolicyOf(req) === undefined) return;
  const session = http2Stream(res)?.session;
  if (session === undefined) return endWithAnswer(req, res);
  const refused = (refusals.get(session) ?? 0) + 1;
  refusals.set(session, refused);
  if (refused >= REFUSALS_PER_SESSION) await endWithAnswer(req, res);
}

/** Closes the connection after this answer, except that of a trusted proxy, which carries requests of other clients. */
export async function endWithAnswer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (cameThroughProxy(req)) return;
  const session = http2Stream(res)?.session;
  if (session !== undefined) {
    if (hostPolicyOf(req) !== undefined) res.once('finish', () => session.close());
    return;
  }
  // Closing a connection with unread data resets it, and the client would not see the answer.
  if (hasBody(req) && !req.complete) await withDeadline(discard(req), REST_OF_BODY_MS);
  if (req.complete || !hasBody(req)) endConnection(res);
}
