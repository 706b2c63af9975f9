import type { IncomingMessage } from 'node:http';

/** The origin of a request target in absolute form, which replaces the `Host` header. */
export interface TargetOrigin {
  readonly scheme: 'http' | 'https';
  /** In lower case, otherwise as sent and unchecked. */
  readonly authority: string;
}

/** RFC 9112, section 3.2.2. */
const ABSOLUTE = /^(https?):\/\/([^/?#]*)(.*)$/is;

const ORIGIN = Symbol('target origin');

interface AddressedRequest extends IncomingMessage {
  [ORIGIN]?: TargetOrigin;
}

/** The target in origin form: path and query as sent. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = ABSOLUTE.exec(url)?.[3];
  if (rest === undefined) return url;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Rewrites an absolute target to origin form, which every step reads, and keeps its origin. */
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
