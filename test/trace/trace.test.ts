import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesOf, hopsOf, traceControlRequest } from './control-request.ts';

test('a command takes at most 12 files and 40 hops from the control plane to the flip', async (t) => {
  const { whole, control } = await traceControlRequest();
  const figures = (steps: typeof whole) => `${filesOf(steps).length} files, ${hopsOf(steps)} hops`;
  t.diagnostic(`from plane.control: ${figures(control)}; from the socket: ${figures(whole)}`);
  assert.deepEqual(control.at(-1), { file: 'gate/attachment.ts', name: 'setBase' });
  assert.ok(filesOf(control).length <= 12, filesOf(control).join('\n'));
  assert.ok(hopsOf(control) <= 40, String(hopsOf(control)));
});
