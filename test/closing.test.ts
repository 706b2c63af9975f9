import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeInOrder, diagnose } from '../src/assembly/closing.ts';
import { diagnostics } from '../src/otel/diagnostics.ts';
import { RdcpError } from '../src/wire/errors.ts';

test('one part that fails to close keeps no later one open', async (t) => {
  const { mock } = t.mock.method(diagnostics, 'error', () => {});
  const closed: string[] = [];
  const failing = {
    close() {
      throw new Error('stuck');
    },
  };
  await closeInOrder([failing, undefined, { close: () => void closed.push('last') }]);
  assert.deepEqual([closed, mock.callCount()], [['last'], 1]);
});

test("our own errors are reported by code and message, with a cause's message and no stack", (t) => {
  const { mock } = t.mock.method(diagnostics, 'error', () => {});
  diagnose(new RdcpError('RDCP_UNAVAILABLE', 'away', { cause: new Error('ECONNRESET') }));
  diagnose(new RdcpError('RDCP_UNAVAILABLE', 'away'));
  assert.deepEqual(
    mock.calls.map((call) => call.arguments),
    [['rdcp: RDCP_UNAVAILABLE: away', 'ECONNRESET'], ['rdcp: RDCP_UNAVAILABLE: away']],
  );
});
