import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesOf, hopsOf, traceControlRequest } from './control-request.ts';

/** From file to file; each further one is one more that a reader of the path has to open. */
const MOST = {
  whole: { files: 32, hops: 88 },
  arriving: { files: 22, hops: 53 },
  control: { files: 13, hops: 35 },
};

test('a command takes at most 32 files from the socket to the flip, 13 of them behind the control plane', async (t) => {
  const { whole, control } = await traceControlRequest();
  const arriving = whole.slice(0, whole.length - control.length);
  const figures = (steps: typeof whole) => `${filesOf(steps).length} files, ${hopsOf(steps)} hops`;
  t.diagnostic(`from plane.control: ${figures(control)}; from the socket: ${figures(whole)}`);
  assert.deepEqual(control.at(-1), { file: 'gate/attachment.ts', name: 'setBase' });
  for (const [part, steps] of Object.entries({ whole, arriving, control })) {
    const most = MOST[part as keyof typeof MOST];
    assert.ok(filesOf(steps).length <= most.files, `${part}:\n${filesOf(steps).join('\n')}`);
    assert.ok(hopsOf(steps) <= most.hops, `${part}: ${hopsOf(steps)} hops`);
  }
});
