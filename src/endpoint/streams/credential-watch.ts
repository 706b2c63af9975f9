import { keepsRights } from '../../access/principal.ts';
import type { Scope } from '../../wire/constants.ts';
import { isRdcpError } from '../../wire/errors.ts';
import type { Identify } from '../middleware/access.ts';
import type { Time } from '../parts.ts';
import { type Context, required } from '../steps.ts';

/**
 * Interval of checks, in milliseconds. A revoked credential ends a stream within a second, of which files of keys and sessions
 * that another process revoked take up to 500 ms to be noticed.
 */
const CHECK_MS = 400;

/**
 * Calls back when the credential of a request expires, is revoked, or does not keep its rights: it needs one of the scopes.
 * @returns a function that ends it
 */
export type WatchCredential = (ctx: Context, scopes: readonly Scope[], over: () => void) => () => void;

export function createCredentialWatch(identify: Identify, { clock, schedule, delay }: Time): WatchCredential {
  async function isAllowed(ctx: Context, scopes: readonly Scope[]): Promise<boolean> {
    try {
      return keepsRights(required(ctx, 'principal'), await identify(ctx), scopes);
    } catch (error) {
      // An issuer that does not answer says nothing about the credential.
      return isRdcpError(error) && error.status >= 500;
    }
  }

  return (ctx, scopes, over) => {
    const { expiresAt = Number.POSITIVE_INFINITY } = required(ctx, 'principal');
    let checking = false;
    let cancel = () => {};
    const expire = () => {
      if (expiresAt - clock.now() < CHECK_MS) cancel = delay(Math.max(0, expiresAt - clock.now()), over);
    };
    const stop = schedule(CHECK_MS, async () => {
      cancel();
      expire();
      if (checking) return;
      checking = true;
      const allowed = await isAllowed(ctx, scopes);
      checking = false;
      if (!allowed) over();
    });
    expire();
    return () => {
      stop();
      cancel();
    };
  };
}
