import { category, runWithTenant } from 'opentelemetry-instrumentation-rdcp/api';

const INVOICES = category('INVOICES', {
  description: 'Every invoice as it is written: its number, its amount and the tax rule that applied',
});

/** Whom we write invoices for. Each is a tenant: what one of them has switched on shows the work for that one alone. */
export const CUSTOMERS = { acme: { name: 'Acme Ltd' }, globex: { name: 'Globex Corporation' } } as const;

export type Customer = keyof typeof CUSTOMERS;

/** Writes invoices for all customers, in turn, until it is stopped. */
export function startBilling(everyMs: number): { stop(): void } {
  let number = 0;
  const timer = setInterval(() => {
    for (const customer of Object.keys(CUSTOMERS)) runWithTenant(customer, () => writeInvoice(customer, ++number));
  }, everyMs);
  return { stop: () => clearInterval(timer) };
}

function writeInvoice(customer: string, number: number): void {
  const cents = 1000 + ((number * 7919) % 9000);
  INVOICES.debug('written', {
    'billing.customer': customer,
    'billing.number': number,
    'billing.cents': cents,
    'billing.tax': cents > 5000 ? 'standard' : 'reduced',
  });
}
