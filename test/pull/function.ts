// A function as a platform runs it: it starts, and its handler is called at once. Its configuration is its argument; it tells its
// parent how long its first invocations took, in milliseconds, and in which one its category was on.
import { setImmediate as turn } from 'node:timers/promises';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

createRdcp({ ...JSON.parse(process.argv[2] as string), server: false, announce: false, emit: { to: () => {} } });
const rows = category('DATABASE');

/** Waits for its database 20 times. */
async function handler(): Promise<void> {
  for (let row = 0; row < 20; row += 1) {
    rows.debug('row', { row });
    await turn();
  }
}

// What the platform does between the start and the first call: it reads the event from a socket.
await turn();
const took: number[] = [];
let on: number | undefined;
for (let invocation = 0; invocation < 50; invocation += 1) {
  const began = performance.now();
  await handler();
  took.push(performance.now() - began);
  if (rows.enabled) on ??= invocation;
}
process.send?.({ took, on, sinceStart: performance.now() });
process.disconnect();
