import { hash } from 'node:crypto';
import { StoreOutage, unwritten } from '../../wire/errors.ts';

/** Sends a command. */
export type Send = (args: readonly string[]) => Promise<unknown>;

/** Runs a script. Its text is sent only to a Redis that does not have it yet. */
export async function evaluate(
  send: Send,
  script: string,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await send(['EVALSHA', hash('sha1', script), ...rest]).catch((error: unknown) => {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return send(['EVAL', script, ...rest]);
      throw error;
    });
  } catch (error) {
    // Up to Redis 7, a permission error inside a script has no name of its own.
    const isForbidden = error instanceof Error && error.message.startsWith('ERR The user executing the script');
    throw isForbidden ? unwritten(new StoreOutage('the store refuses writes (NOPERM)', { cause: error })) : error;
  }
}
