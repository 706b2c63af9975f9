import type { IncomingMessage } from 'node:http';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Principal } from '../auth/principal.ts';
import { clientCertificateOf } from './client-certificate.ts';
import { senderOf } from './middleware/rate-limit.ts';
import type { RateLimiter } from './rate-limit.ts';

/** The sender of a request; `undefined` without a credential. Rejects as {@link Authenticator.authenticate} does. */
export interface Identify {
  (req: IncomingMessage): Promise<Principal | undefined>;
  /** Authenticates it again: the credential may have expired or been revoked since. */
  again(req: IncomingMessage): Promise<Principal | undefined>;
}

const IDENTITY = Symbol('identity');

interface IdentifiedRequest extends IncomingMessage {
  [IDENTITY]?: Promise<Principal | undefined>;
}

/**
 * Authenticates each request once.
 * @param anonymous counts requests without a valid credential, by address
 */
export function createIdentify(authenticator: Authenticator, anonymous: RateLimiter): Identify {
  const again = (req: IncomingMessage) =>
    authenticator.authenticate({
      headers: req.headersDistinct,
      clientCertificate: clientCertificateOf(req),
      sender: senderOf(req, anonymous),
      message: req,
    });
  const once = (req: IdentifiedRequest) => {
    req[IDENTITY] ??= again(req);
    return req[IDENTITY];
  };
  return Object.assign(once, { again });
}
