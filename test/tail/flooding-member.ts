// One process of a fleet with a category in a hot loop: it makes as many calls as it is asked for, in turns of some thousand, and
// says when it is done. Its configuration is its argument.
import { setTimeout as sleep } from 'node:timers/promises';
import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';

const CALLS_A_TURN = 1000;
const PAUSE_MS = 20;

const rdcp = createRdcp(JSON.parse(process.argv[2] as string) as RdcpConfig);
const hot = rdcp.category('HOT');

process.on('message', async (calls: number) => {
  for (let call = 0; call < calls; ) {
    for (const end = Math.min(calls, call + CALLS_A_TURN); call < end; call += 1) {
      hot.debug('a line of a hot loop, of the usual length', { call, sku: 'A-1204', left: 12, ok: true });
    }
    await sleep(PAUSE_MS);
  }
  process.send?.({ done: calls });
});
process.on('disconnect', () => process.exit());
const { url } = await rdcp.listen();
process.send?.({ url });
