import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeInOrder, diagnose } from '../src/assembly/closing.ts';
import { diagnostics } from '../src/otel/diagnostics.ts';
import { RdcpError } from '../src/wire/errors.ts';
import { escapeUnprintable, escapeUnprintableInLines } from '../src/wire/printable.ts';
import fc from './support/fast-check.ts';

const text = fc.string({ unit: 'binary', maxLength: 40 });

test('nothing that a terminal obeys is left, and the ends of lines only where they are asked for', () => {
  fc.assert(
    fc.property(text, (given) => {
      assert.doesNotMatch(escapeUnprintable(given), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      assert.equal(escapeUnprintableInLines(given), given.split('\n').map(escapeUnprintable).join('\n'));
    }),
  );
});

test('JSON stays the same JSON', () => {
  fc.assert(
    fc.property(text, (value) => {
      assert.deepEqual(JSON.parse(escapeUnprintableInLines(JSON.stringify({ value }, undefined, 2))), { value });
    }),
  );
});

test('escapes name the character', () => {
  assert.equal(
    escapeUnprintable('a\u009b31m\u202e\u{e0001}\ud800\n'),
    'a\\u009b31m\\u202e\\udb40\\udc01\\ud800\\u000a',
  );
});

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
