import { LRUCache } from 'lru-cache';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

const CACHE = category('CACHE', {
  description: 'Price cache: hits with the age of the entry, misses, and what was evicted for want of room',
});

/** Prices in cents, kept for a few seconds: short enough to follow the price service, long enough to spare it. */
export interface PriceCache {
  get(sku: string, load: (sku: string) => Promise<number>): Promise<number>;
}

export function createPriceCache(limits: { entries: number; milliseconds: number }): PriceCache {
  const prices = new LRUCache<string, number>({
    max: limits.entries,
    ttl: limits.milliseconds,
    dispose: (_price, sku, reason) => CACHE.debug('dropped', { 'shop.sku': sku, 'shop.reason': reason }),
  });

  return {
    async get(sku, load) {
      const cached = prices.get(sku);
      if (cached !== undefined) {
        CACHE.debug('hit', () => ({
          'shop.sku': sku,
          'shop.age_ms': Math.round(limits.milliseconds - prices.getRemainingTTL(sku)),
        }));
        return cached;
      }
      CACHE.debug('miss', { 'shop.sku': sku });
      const price = await load(sku);
      prices.set(sku, price);
      return price;
    },
  };
}
