// Some of the members of the fleet that fleet-tail.ts reads: store, fleet, gate and tail of a process each, without endpoint.
// `ROUNDS` times `ROUND_MS` after a message, each debugs once, with the time of the host's monotonic clock.

import { randomUUID } from 'node:crypto';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from './fleet-size-members.ts';
import { internals } from './measurement.ts';

export const CATEGORY = 'CHECKOUT';
export const ROUNDS = 10;
const ROUND_MS = 2000;
const LISTED = { name: CATEGORY, description: '', defaultEnabled: false };

if (process.argv[2] === 'tailed') {
  const { GateCore, Relay, sinkOf, createTelemetry, systemClock, unrefInterval, WorkFollower } = await internals();
  const [url = '', count = ''] = process.argv.slice(3);
  // Reader and store have a processor of their own, as on other hosts.
  setPriority(10);
  const telemetry = createTelemetry();

  const member = async () => {
    const id = randomUUID();
    const gate = new GateCore();
    const category = gate.category(CATEGORY);
    const sink = sinkOf({ telemetry, clock: systemClock, writeLine: () => undefined });
    gate.attach({ sink, maxCategories: 4096, registered: () => undefined, failed: () => undefined });
    const { store, fleet } = await join(url, id, [LISTED]);
    new Relay({
      gate,
      addTap: sink.addTap,
      recorder: sink.recorder,
      past: sink.recorder.past,
      service: () => 'benchmark',
      work: new WorkFollower(gate.work),
      budgetOf: sink.budgets.configured,
      messages: store.messages,
      tails: true,
      takesPart: fleet.has,
      whileChosen: (_choice, begin) => begin(),
      instanceId: id,
      clock: systemClock,
      schedule: unrefInterval,
      random: Math.random,
      randomUUID,
    });
    return category;
  };

  const categories: Awaited<ReturnType<typeof member>>[] = [];
  // The timers of a member keep no process running; this listener does.
  process.on('message', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const category of categories) {
        category.debug('paid', { at: Number(process.hrtime.bigint()) / 1e6 });
        await sleep(ROUND_MS / categories.length);
      }
    }
    process.send?.('debugged');
  });
  process.on('disconnect', () => process.exit());
  for (let index = 0; index < Number(count); index += 1) {
    categories.push(await member());
    await sleep(5);
  }
  process.send?.('joined');
}
