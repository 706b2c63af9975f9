import { category } from 'opentelemetry-instrumentation-rdcp/api';

// A category of this shop alone: names outside the common ones carry the prefix X-.
const DISCOUNTS = category('X-DISCOUNTS', {
  description: 'Which discount an order got, or the condition it missed',
});

const MANY = 3;
const LARGE_CENTS = 10_000;

/** The total in cents after the better of two discounts: 10 % for three or more of a kind, 5 % from 100.00 on. */
export function discounted(quantity: number, unitCents: number): number {
  const total = quantity * unitCents;
  const percent = quantity >= MANY ? 10 : total >= LARGE_CENTS ? 5 : 0;
  DISCOUNTS.debug(percent === 0 ? 'none' : 'granted', {
    'shop.percent': percent,
    'shop.quantity': quantity,
    'shop.cents': total,
  });
  return Math.round(total * (1 - percent / 100));
}
