// One process of the fleet that the chaos program breaks. It writes a numbered line every 20 ms, and sends what its gate says
// whenever that changes. When it is asked to end, it closes its remote control, and must then end by itself.
import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';
import { KEYS, LINES, SLOW_MS } from './schedule.ts';

const silent = { info() {}, warn() {}, error() {} };
const rdcp = createRdcp({ ...(JSON.parse(process.argv[2] as string) as RdcpConfig), logger: silent });
const keys = KEYS.map(({ category: name, tenant }) => {
  const category = rdcp.category(name);
  return () => (tenant === undefined ? category.enabled : rdcp.runWithTenant(tenant, () => category.enabled));
});
const lines = rdcp.category(LINES);
const { url } = await rdcp.listen();
process.send?.({ url });

let n = 0;
let sent = '';
let before = Date.now();
const timer = setInterval(() => {
  n += 1;
  lines.debug('line', { pid: process.pid, n });
  const states = keys.map((enabled) => Number(enabled())).join('');
  const at = Date.now();
  const gap = at - before;
  before = at;
  if (states !== sent || gap > SLOW_MS) process.send?.({ at, states, gap });
  sent = states;
}, 20);

const orphaned = () => process.exit(2);
process.on('disconnect', orphaned);
process.on('SIGTERM', () => {
  clearInterval(timer);
  process.off('disconnect', orphaned);
  void rdcp.close().then(() => process.disconnect());
});
