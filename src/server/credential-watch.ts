import { hasScope, identityKey } from '../auth/principal.ts';
import type { Clock, Delay, Schedule } from '../clock.ts';
import { isRdcpError } from '../errors.ts';
import type { Scope } from '../protocol/constants.ts';
import type { Identify } from './middleware/access.ts';
import { type Context, required } from './steps.ts';

/**
 * Interval of checks, in milliseconds. A revoked credential ends a stream within a second, of which files of keys and sessions
 * that another process revoked take up to 500 ms to be noticed.
 */
const CHECK_MS = 400;

export interface CredentialWatchOptions {
  readonly identify: Identify;
  readonly clock: Pick<Clock, 'now'>;
  readonly schedule: Schedule;
  readonly delay: Delay;
}

/**
 * Calls back when the credential of a request expires, is revoked, or loses the scope. One with `admin` must keep that, because
 * it may have been shown more: audit entries, other tenants, a higher rate.
 * @returns a function that ends it
 */
export type WatchCredential = (ctx: Context, scope: Scope, over: () => void) => () => void;

export function createCredentialWatch(options: CredentialWatchOptions): WatchCredential {
  const { identify, clock, schedule, delay } = options;

  async function isAllowed(ctx: Context, scope: Scope): Promise<boolean> {
    const before = required(ctx, 'principal');
    const needed = hasScope(before, 'admin') ? 'admin' : scope;
    try {
      const principal = await identify.again(ctx.req);
      return principal !== undefined && identityKey(principal) === identityKey(before) && hasScope(principal, needed);
    } catch (error) {
      // An issuer that does not answer says nothing about the credential.
      return isRdcpError(error) && error.status >= 500;
    }
  }

  return (ctx, scope, over) => {
    const { expiresAt = Number.POSITIVE_INFINITY } = required(ctx, 'principal');
    let checking = false;
    let cancel = () => {};
    const expire = () => {
      if (expiresAt - clock.now() < CHECK_MS) cancel = delay(Math.max(0, expiresAt - clock.now()), over);
    };
    const stop = schedule(CHECK_MS, () => {
      cancel();
      expire();
      if (checking) return;
      checking = true;
      void isAllowed(ctx, scope).then((allowed) => {
        checking = false;
        if (!allowed) over();
      });
    });
    expire();
    return () => {
      stop();
      cancel();
    };
  };
}
