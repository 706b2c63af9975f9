// Under `register`: a scrape of Prometheus has the calls of a category.

import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { until } from './service.ts';

const orders = category('ORDERS', { enabled: true });
const scrape = async () =>
  (await fetch(`http://localhost:${process.env.OTEL_EXPORTER_PROMETHEUS_PORT}/metrics`)).text();
await until(async () => {
  orders.debug('placed');
  return /^rdcp_debug_calls_total\{rdcp_category_name="ORDERS".*\} [1-9]/m.test(await scrape().catch(() => ''));
});
