import type { IncomingMessage } from 'node:http';
import { TOKEN_PATHS } from '../protocol/constants.ts';
import { originForm } from './request-target.ts';

/** A request as Connect and Express leave it: they keep the target that it came with. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown;
}

export type MetadataPath = ReturnType<typeof createMetadataPath>;

/**
 * Where the metadata of an issuer is asked for. When the issuer has a path, that follows the well-known one (RFC 8414, section
 * 3.1), so that such a request arrives outside of the path that the endpoint may be mounted below.
 */
export function createMetadataPath(issuer: URL) {
  const below = issuer.pathname.replace(/\/$/, '');
  const full = TOKEN_PATHS.metadata + below;

  return {
    /** Whether a request is for us, in an application that mounted us and may have metadata of its own. */
    isOurs(path: string, { url, originalUrl }: MountedRequest): boolean {
      if (path === full) return true;
      return path === TOKEN_PATHS.metadata && typeof originalUrl === 'string' && originalUrl !== url;
    },

    /** Gives a request by the full path the one that the endpoint knows. */
    shorten(req: IncomingMessage): void {
      const target = originForm(req.url ?? '');
      if (below !== '' && (target === full || target.startsWith(`${full}?`))) {
        req.url = TOKEN_PATHS.metadata + target.slice(full.length);
      }
    },
  };
}
