import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { z } from 'zod';
import { Refusal } from './refusal.ts';

const HTTP_CLIENT = category('HTTP_CLIENT', {
  description: 'Requests to the price service: address, attempt, status and duration; retries and timeouts',
});

const ATTEMPTS = 2;
const TIMEOUT_MS = 2000;

const answer = z.object({ cents: z.number().int().positive() });

export interface Prices {
  /**
   * Today's price of a product in cents.
   * @throws {Refusal} 502 when the price service does not give one
   */
  of(sku: string): Promise<number>;
}

/** @param baseUrl asked for at each call, because the shop is its own price service and learns its port when it listens */
export function createPrices(baseUrl: () => string): Prices {
  async function ask(url: string, attempt: number): Promise<number> {
    const startedAt = performance.now();
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    HTTP_CLIENT.debug('answer', () => ({
      'url.full': url,
      'http.response.status_code': response.status,
      'http.request.resend_count': attempt - 1,
      'shop.milliseconds': Math.round(performance.now() - startedAt),
    }));
    const body: unknown = await response.json();
    if (!response.ok) throw new Error(`the price service answered ${response.status}`);
    return answer.parse(body).cents;
  }

  return {
    of: (sku) =>
      HTTP_CLIENT.span('GET price', async () => {
        const url = `${baseUrl()}/prices/${encodeURIComponent(sku)}`;
        for (let attempt = 1; ; attempt++) {
          try {
            return await ask(url, attempt);
          } catch (error) {
            HTTP_CLIENT.debug('failed', () => ({ 'url.full': url, 'error.message': String(error) }));
            if (attempt === ATTEMPTS) throw new Refusal(502, 'no price to be had', { cause: error });
          }
        }
      }),
  };
}
