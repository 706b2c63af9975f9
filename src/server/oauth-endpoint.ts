import type { IncomingMessage } from 'node:http';

const OAUTH = Symbol('OAuth endpoint');

interface MarkedRequest extends IncomingMessage {
  [OAUTH]?: true;
}

/** Marks a request to an OAuth endpoint, whose errors use OAuth's format. */
export function markAsOAuth(req: MarkedRequest): void {
  req[OAUTH] = true;
}

export function isOAuth(req: MarkedRequest): boolean {
  return req[OAUTH] === true;
}
