// One process of a fleet with the console. Its configuration is its argument; it tells its parent where it listens.
import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';

const rdcp = createRdcp(JSON.parse(process.argv[2] as string) as RdcpConfig);
const database = rdcp.category('DATABASE', { description: 'SQL statements' });
let count = 0;
setInterval(() => {
  count += 1;
  for (const tenant of ['acme', 'beta']) {
    rdcp.runWithTenant(tenant, () => database.debug(`${tenant}'s query ${count}`, { pid: process.pid, count }));
  }
}, 50);

process.on('message', () => process.send?.({ enabled: rdcp.runWithTenant('acme', () => database.enabled) }));
process.on('disconnect', () => process.exit());
const { url } = await rdcp.listen();
process.send?.({ url });
