import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until `holds` returns a value other than `undefined` or `false`, and returns it.
 * @param what is waited for, as in `not within 60 s: the category is on`
 * @throws after `milliseconds`, with what was waited for; at once with an error of `holds`
 */
export async function until<T>(
  what: string,
  holds: () => T | Promise<T>,
  milliseconds = 60_000,
): Promise<Exclude<Awaited<T>, undefined | false>> {
  for (const deadline = performance.now() + milliseconds; ; await sleep(20)) {
    const value = await holds();
    if (value !== undefined && value !== false) return value as Exclude<Awaited<T>, undefined | false>;
    if (performance.now() > deadline) throw new Error(`not within ${milliseconds / 1000} s: ${what}`);
  }
}
