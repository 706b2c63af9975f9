import type { IncomingMessage } from 'node:http';

const OAUTH = Symbol('OAuth endpoint');

interface MarkedRequest extends IncomingMessage {
  [OAUTH]?: true;
}

/** Marks a request as one to an endpoint of OAuth, which answers refusals as OAuth has them. */
export function markAsOAuth(req: MarkedRequest): void {
  req[OAUTH] = true;
}

export function isOAuth(req: MarkedRequest): boolean {
  return req[OAUTH] === true;
}
