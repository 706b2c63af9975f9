// A service with a category in a hot path beside a quiet one, both on. It runs for as many milliseconds as it is told, and
// says what it counted.

import { setTimeout } from 'node:timers/promises';
import { gate } from '../../src/gate/gate.ts';
import { createRdcp } from '../../src/index.ts';

const CALLS_IN_A_MILLISECOND = 1000;

const rdcp = createRdcp({
  server: false,
  security: { apiKeys: [] },
  categories: { HOT: { enabled: true }, QUIET: { enabled: true } },
  emit: { to: 'json' },
  announce: false,
});
const hot = rdcp.category('HOT');
const quiet = rdcp.category('QUIET');
const started = performance.now();
const milliseconds = Number(process.argv[2]);

let made = 0;
let quietMade = 0;
for (let now = 0; now < milliseconds; now = performance.now() - started) {
  for (; made < now * CALLS_IN_A_MILLISECOND; made++) hot.debug('line priced', { call: made, password: 'hunter2' });
  for (; quietMade < now / 100; quietMade++) quiet.debug('quiet', { call: quietMade });
  await setTimeout(5);
}
await rdcp.close();
const [hotIndex, quietIndex] = ['HOT', 'QUIET'].map((name) => gate.categories().findIndex((one) => one.name === name));
process.send!({
  milliseconds: performance.now() - started,
  hot: gate.callsTotal(hotIndex!),
  dropped: gate.droppedTotal(hotIndex!),
  quiet: gate.callsTotal(quietIndex!),
  quietDropped: gate.droppedTotal(quietIndex!),
});
process.disconnect();
