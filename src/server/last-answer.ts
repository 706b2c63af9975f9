import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2Session } from 'node:http2';
import { withDeadline } from '../deadline.ts';
import { cameThroughProxy } from './client-address.ts';
import { hostPolicyOf } from './host-policy.ts';
import { endConnection, http2Stream } from './http2-request.ts';
import { discard, hasBody } from './read-body.ts';

/** The rest of a body is waited for so long, milliseconds. */
const REST_OF_BODY_MS = 500;
/** A new connection of HTTP/2 costs a TLS handshake, which is more than some refusals are. */
const REFUSALS_PER_SESSION = 10;

const refusals = new WeakMap<Http2Session, number>();

/**
 * Has the connection end with a refusal of somebody unknown, where it is one of a listener of our own: whoever floods it
 * waits in the queue of new connections then, and cannot fill each turn of the event loop with a request of all of theirs.
 */
export async function endWithRefusal(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (hostPolicyOf(req) === undefined) return;
  const session = http2Stream(res)?.session;
  if (session === undefined) return endWithAnswer(req, res);
  const refused = (refusals.get(session) ?? 0) + 1;
  refusals.set(session, refused);
  if (refused >= REFUSALS_PER_SESSION) await endWithAnswer(req, res);
}

/** Has the connection end with this answer, but for that of a trusted proxy, which carries the requests of others too. */
export async function endWithAnswer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (cameThroughProxy(req)) return;
  const session = http2Stream(res)?.session;
  if (session !== undefined) {
    if (hostPolicyOf(req) !== undefined) res.once('finish', () => session.close());
    return;
  }
  // A connection that is closed while something on it is unread is reset, and the client would not see the answer.
  if (hasBody(req) && !req.complete) await withDeadline(discard(req), REST_OF_BODY_MS);
  if (req.complete || !hasBody(req)) endConnection(res);
}
