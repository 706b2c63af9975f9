// An application whose work is done when its parent says so. It closes nothing: it ends because nothing is left to do.
// With a configuration as its argument it has an instrumentation of its own.
import { once } from 'node:events';
import { type RdcpConfig, RdcpInstrumentation } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { CATEGORIES } from '../support/categories.ts';

const [config] = process.argv.slice(2);
const categories = CATEGORIES.map((name) => category(name));
if (config !== undefined) {
  const { url } = await new RdcpInstrumentation(JSON.parse(config) as RdcpConfig).listen();
  process.stdout.write(`ready ${url}\n`);
}
await once(process, 'message');
for (const category of categories) category.debug('done');
process.disconnect();
