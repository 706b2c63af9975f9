import type { IncomingMessage } from 'node:http';
import { PATH_PREFIX, PATHS, TOKEN_PATHS } from '../wire/constants.ts';

/** RFC 9112, section 3.2.2. */
export const ABSOLUTE = /^(https?):\/\/([^/?#]*)(.*)$/is;

/** The target in origin form: path and query as sent. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = ABSOLUTE.exec(url)?.[3];
  if (rest === undefined) return url;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** The path as sent, neither decoded nor normalized, so that each endpoint has exactly one spelling. */
function rawPath(url = ''): string {
  const target = originForm(url);
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/** Whether a request is for the endpoint, in an application that mounts it. */
export function isOurs(req: IncomingMessage, metadataPath: MetadataPath | undefined): boolean {
  const path = rawPath(req.url);
  return path.startsWith(PATH_PREFIX) || path === PATHS.wellKnown || metadataPath?.isOurs(path, req) === true;
}

/** A request in Connect and Express, which keep the original target. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown;
}

export type MetadataPath = ReturnType<typeof createMetadataPath>;

/**
 * The path of an issuer's metadata. For an issuer with a path, that path follows the well-known one (RFC 8414, section
 * 3.1), so the request arrives outside the endpoint's mount path.
 */
export function createMetadataPath(issuer: URL) {
  const below = issuer.pathname.replace(/\/$/, '');
  const full = TOKEN_PATHS.metadata + below;

  return {
    /** Whether a request is for us, in an application that may serve metadata of its own. */
    isOurs(path: string, { url, originalUrl }: MountedRequest): boolean {
      if (path === full) return true;
      return path === TOKEN_PATHS.metadata && typeof originalUrl === 'string' && originalUrl !== url;
    },

    /** Rewrites the full path to the one that the endpoint routes. */
    shorten(req: IncomingMessage): void {
      const target = originForm(req.url ?? '');
      if (below !== '' && (target === full || target.startsWith(`${full}?`))) {
        req.url = TOKEN_PATHS.metadata + target.slice(full.length);
      }
    },
  };
}
