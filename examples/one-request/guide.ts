import { resolve } from 'node:path';

const DEFAULT_CONTROL = 'http://127.0.0.1:9465';

/** What to try, with addresses that work as they stand. */
export function guide(at: {
  readonly storefront: string;
  readonly control: string;
  readonly shippingControl: string;
  readonly perSecond: number;
}): string {
  const rdcp = `${at.control === DEFAULT_CONTROL ? '' : `RDCP_URL=${at.control} `}npx rdcp`;
  return `
Three services answer ${at.perSecond} requests a second, each by asking the next:
storefront (Express, pino), stock (Koa, a category of its own), shipping (Fastify, debug).
The first two share a Redis. Shipping does not: it verifies the tickets that storefront signs.
Debug output is off.

In this directory: switch ORDERS and STOCK on for one request alone, and read its lines from all three:
  ${rdcp} request ORDERS STOCK --for 5m --tail --also ${at.shippingControl}

It prints a line for curl, with the header to send. In a second terminal, put this in the place of URL:
  ${at.storefront}/orders/tea

The lines of whoever orders tea, by the path of the request:
  ${rdcp} tail ORDERS -m url.path=/orders/tea --lines 4

Remote control ${at.control}, and ${at.shippingControl} of shipping; key of both in ${resolve('.rdcp/dev-key')}
Other ports    PORT, RDCP_PORT, SHIPPING_RDCP_PORT; RATE requests a second
Stop it with Ctrl-C.
`;
}
