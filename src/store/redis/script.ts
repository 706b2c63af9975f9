import { hash } from 'node:crypto';
import { StoreOutage } from '../../errors.ts';

/** Sends a command. */
export type Send = (args: readonly string[]) => Promise<unknown>;

/** A Lua script, and the name that Redis has for it. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

export function script(text: string): Script {
  return { text, sha1: hash('sha1', text) };
}

/** Runs a script. Its text is sent only to a Redis that does not have it yet. */
export async function evaluate(
  send: Send,
  { text, sha1 }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await send(['EVALSHA', sha1, ...rest]).catch((error: unknown) => {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return send(['EVAL', text, ...rest]);
      throw error;
    });
  } catch (error) {
    // Up to Redis 7, a permission error inside a script has no name of its own.
    const isForbidden = error instanceof Error && error.message.startsWith('ERR The user executing the script');
    throw isForbidden ? new StoreOutage('the store refuses writes (NOPERM)', { cause: error }) : error;
  }
}
