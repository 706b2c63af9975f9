// An application whose work is done when its parent says so. It closes nothing: it ends because nothing is left to do.
import { once } from 'node:events';
import { type RdcpConfig, RdcpInstrumentation } from '../../src/index.ts';
import { CATEGORIES } from '../support/server.ts';

const instrumentation = new RdcpInstrumentation(JSON.parse(process.argv[2] as string) as RdcpConfig);
const categories = CATEGORIES.map((name) => instrumentation.rdcp.category(name));
const { url } = await instrumentation.listen();
process.stdout.write(`ready ${url}\n`);
await once(process, 'message');
for (const category of categories) category.debug('done');
process.disconnect();
