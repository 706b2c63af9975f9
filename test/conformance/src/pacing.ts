import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, header } from './http.ts';

/** Longest wait for a rate limit. A server that asks for more is not waited for. */
const LONGEST_WAIT_S = 120;
const ATTEMPTS = 3;

/** Keeps the suite within the rate limits of the server: it waits instead of being refused. */
export class Pacer {
  readonly #notice: (line: string) => void;
  readonly #notBefore = new Map<string, number>();

  constructor(notice: (line: string) => void) {
    this.#notice = notice;
  }

  /** Sends a request that counts towards the limit named `bucket`, not before the server said it may, and again after 429. */
  async send(bucket: string, exchange: () => Promise<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      await this.#wait(bucket);
      const answer = await exchange();
      const seconds = secondsToWait(answer);
      if (seconds > 0) this.#notBefore.set(bucket, Date.now() + seconds * 1000);
      if (answer.status !== 429 || attempt === ATTEMPTS || seconds === 0) return answer;
    }
  }

  async #wait(bucket: string): Promise<void> {
    const left = (this.#notBefore.get(bucket) ?? 0) - Date.now();
    if (left <= 0) return;
    this.#notice(`waiting ${Math.ceil(left / 1000)} s: the server limits the rate of ${bucket} requests`);
    await sleep(left);
  }
}

/** Seconds until the next request may be sent: 0 when it may be sent now, or when nothing useful is said. */
export function secondsToWait(answer: Answer): number {
  const seconds = answer.status === 429 ? retryAfter(answer) : exhausted(answer);
  return seconds !== undefined && seconds > 0 && seconds <= LONGEST_WAIT_S ? seconds : 0;
}

/** `Retry-After` in seconds, from either of its forms (RFC 9110, 10.2.3); `undefined` when it is missing or neither. */
export function retryAfter(answer: Answer): number | undefined {
  const value = header(answer, 'retry-after');
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

/** The rate limit in an answer's headers, in the draft's structured form or the older separate headers. */
export function rateLimit(answer: Answer): { remaining: number; resetSeconds: number } | undefined {
  const structured = header(answer, 'ratelimit') ?? '';
  const remaining = /;\s*r=(\d+)/.exec(structured)?.[1] ?? header(answer, 'ratelimit-remaining');
  const reset = /;\s*t=(\d+)/.exec(structured)?.[1] ?? header(answer, 'ratelimit-reset');
  if (remaining === undefined) return undefined;
  return { remaining: Number(remaining), resetSeconds: Number(reset ?? 0) };
}

function exhausted(answer: Answer): number | undefined {
  const limit = rateLimit(answer);
  return limit?.remaining === 0 ? limit.resetSeconds : undefined;
}
