// One process of a fleet of two tenants, which debugs all the time. Its configuration is its argument; it tells its parent
// where it listens, and what its gate says when it is asked. What it writes itself, its parent reads.
import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';
import { runWork } from 'opentelemetry-instrumentation-rdcp/api';

const rdcp = createRdcp(JSON.parse(process.argv[2] as string) as RdcpConfig);
const database = rdcp.category('DATABASE');
let count = 0;
setInterval(() => {
  count += 1;
  for (const tenant of ['acme', 'beta']) {
    rdcp.runWithTenant(tenant, () =>
      runWork('query', () => database.debug(`${tenant}'s query`, { pid: process.pid, count, token: 'hunter2' })),
    );
  }
}, 20);

process.on('message', () => process.send?.({ enabled: rdcp.runWithTenant('acme', () => database.enabled) }));
process.on('disconnect', () => process.exit());
const { url } = await rdcp.listen();
process.send?.({ url });
