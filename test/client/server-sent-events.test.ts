import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ServerSentEvent, ServerSentEventParser } from '../../src/tools/client/server-sent-events.ts';

function read(...pieces: readonly string[]): ServerSentEvent[] {
  const parser = new ServerSentEventParser();
  return pieces.flatMap((piece) => [...parser.read(piece)]);
}

test('an event ends with an empty line, whatever ends its lines', () => {
  for (const end of ['\n', '\r\n', '\r']) {
    // A carriage return at the end of a piece may be half of an end.
    const stream = ['event: line', 'data: one', 'data:two', '', ''].join(end) + (end === '\r' ? ':' : '');
    assert.deepEqual(read(stream), [{ event: 'line', data: 'one\ntwo' }], JSON.stringify(end));
  }
});

test('wherever a stream is cut, its events are the same', () => {
  const stream = 'id: 7\r\nevent: state\r\ndata: {}\r\n\r\n: comment\r\ndata: x\r\n\r\n';
  const expected = [
    { event: 'state', data: '{}', id: '7' },
    { event: 'message', data: 'x', id: '7' },
  ];
  for (let at = 0; at <= stream.length; at += 1) {
    assert.deepEqual(read(stream.slice(0, at), stream.slice(at)), expected, `cut at ${at}`);
  }
});

test('an event without data is none, unknown fields are skipped, and an id with NUL does not count', () => {
  assert.deepEqual(read('event: empty\n\nretry: 5\nunknown\nid: a\0b\ndata\n\n'), [{ event: 'message', data: '' }]);
});

test('an event that does not end is an error before it fills the memory', () => {
  const parser = new ServerSentEventParser();
  const piece = `data: ${'x'.repeat(2 ** 20)}\n`;
  assert.throws(() => {
    for (let sent = 0; sent < 5; sent += 1) for (const _ of parser.read(piece)) assert.fail('no event ended');
  }, RangeError);
});
