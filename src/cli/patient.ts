import type { Fetch } from '../client/transport.ts';
import { PATHS } from '../protocol/constants.ts';
import type { Terminal } from './terminal.ts';

/** A service that has not answered for so long is mentioned, in milliseconds: the client waits longer. */
const SLOW_MS = 5000;

/** Says that an answer is waited for. That of a forecast takes its time. */
export function patient({ note }: Pick<Terminal, 'note'>, fetch: Fetch, slowMs = SLOW_MS): Fetch {
  return async (url, init) => {
    const { origin, pathname } = new URL(url);
    if (pathname.endsWith(PATHS.forecast)) return fetch(url, init);
    const slow = setTimeout(() => note(`Waiting for an answer of ${origin}; Ctrl-C ends it.`), slowMs);
    try {
      return await fetch(url, init);
    } finally {
      clearTimeout(slow);
    }
  };
}
