// A service whose debug lines are not read fast enough. Told how many calls to make at once by messages of its parent,
// it answers with what it counted.

import { gate } from '../../src/gate/gate.ts';
import { createRdcp } from '../../src/index.ts';

const to = process.argv[2] as 'stderr' | 'json';
const rdcp = createRdcp({
  server: { port: 0 },
  categories: { FLOOD: { enabled: true } },
  emit: { to },
  controls: { budget: false },
  announce: false,
});
const { url } = await rdcp.listen();
const flood = rdcp.category('FLOOD');

process.on('message', (calls: number) => {
  for (let call = 0; call < calls; call++) flood.debug('a line that nobody reads, of some length: é', { call });
  process.send!({
    url,
    calls: gate.callsTotal(0),
    dropped: gate.droppedTotal(0, 'backlog'),
    waiting: process.stderr.writableLength,
  });
});
process.once('disconnect', () => process.exit());
process.send!({ url });
