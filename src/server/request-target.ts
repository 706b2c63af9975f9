import type { IncomingMessage } from 'node:http';

/** Where a request whose target is in absolute form is bound for. It stands in the place of the `Host` header. */
export interface TargetOrigin {
  readonly scheme: 'http' | 'https';
  /** Lower-case, as it was sent: nothing of it has been checked. */
  readonly authority: string;
}

/** RFC 9112, section 3.2.2. */
const ABSOLUTE = /^(https?):\/\/([^/?#]*)(.*)$/is;

const ORIGIN = Symbol('target origin');

interface AddressedRequest extends IncomingMessage {
  [ORIGIN]?: TargetOrigin;
}

/** The target in origin form: its path and query as they were sent. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = ABSOLUTE.exec(url)?.[3];
  if (rest === undefined) return url;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Gives a request whose target is in absolute form the origin form that every step reads, and keeps what it loses. */
export function readAsOriginForm(req: AddressedRequest): void {
  if (req.url === undefined || req.url.startsWith('/')) return;
  const [, scheme, authority] = ABSOLUTE.exec(req.url) ?? [];
  if (scheme === undefined || authority === undefined) return;
  req[ORIGIN] = { scheme: scheme.toLowerCase() as TargetOrigin['scheme'], authority: authority.toLowerCase() };
  req.url = originForm(req.url);
}

/** `undefined` for a target in any other form. */
export function targetOriginOf(req: AddressedRequest): TargetOrigin | undefined {
  return req[ORIGIN];
}
