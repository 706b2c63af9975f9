import type { IncomingMessage } from 'node:http';
import { TOKEN_PATHS } from '../protocol/constants.ts';
import { originForm } from './request-target.ts';

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
