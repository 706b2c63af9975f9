import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { followUncaught } from '../../src/calls/work/uncaught.ts';

function following() {
  const host = new EventEmitter();
  const seen: unknown[] = [];
  const follow = () => followUncaught(host as unknown as NodeJS.Process, (error) => void seen.push(error));
  return { host, seen, follow };
}

test('rejections are seen while the application listens for them, and only then is there a listener', () => {
  const { host, seen, follow } = following();
  const rejections = () => host.listenerCount('unhandledRejection');
  follow();
  assert.equal(rejections(), 0, 'a listener would keep the process alive');
  const own = () => undefined;
  host.on('unhandledRejection', own).on('unhandledRejection', own);
  host.emit('unhandledRejection', 'first');
  host.off('unhandledRejection', own);
  host.emit('unhandledRejection', 'second');
  host.off('unhandledRejection', own);
  assert.equal(rejections(), 0);
  host.once('unhandledRejection', own);
  host.emit('unhandledRejection', 'third');
  assert.equal(rejections(), 0);
  host.on('unhandledRejection', own).removeAllListeners('unhandledRejection');
  assert.equal(rejections(), 0);
  assert.deepEqual(seen, ['first', 'second', 'third']);
});

test('a listener that the application has already is found', () => {
  const { host, seen, follow } = following();
  host.on('unhandledRejection', () => undefined);
  const unfollow = follow();
  host.emit('unhandledRejection', 'rejected');
  unfollow();
  host.emit('unhandledRejection', 'later');
  assert.deepEqual(seen, ['rejected']);
  assert.deepEqual(host.eventNames(), ['unhandledRejection']);
});

test('several that follow do not keep each other listening', () => {
  const { host, follow } = following();
  const unfollow = [follow(), follow()];
  const own = () => undefined;
  host.on('unhandledRejection', own);
  assert.equal(host.listenerCount('unhandledRejection'), 3);
  host.off('unhandledRejection', own);
  assert.equal(host.listenerCount('unhandledRejection'), 0);
  for (const end of unfollow) end();
  assert.deepEqual(host.eventNames(), []);
});
