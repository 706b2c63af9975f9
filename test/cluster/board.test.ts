import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { openBoard } from '../../src/control/cluster/board.ts';

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-board-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const calls = (total: number, rate: number) => [{ tenant: '', category: 'ORDERS', total, rate }];

it('adds up what the others counted; of one that ended the calls remain, and no rate', (t) => {
  const at = folder(t);
  const living = new Set([1, 2, 3]);
  const isRunning = (pid: number) => living.has(pid);
  const open = (process: string, pid: number) => openBoard(at, { process, pid, isRunning });
  const [one, two, three] = [open('one', 1), open('two', 2), open('three', 3)];
  two.publishCalls(calls(5, 2));
  three.publishCalls(calls(7, 1));
  assert.deepEqual(one.callsOfOthers('').get('ORDERS'), { total: 12, rate: 3 });
  living.delete(3);
  assert.deepEqual(one.callsOfOthers('').get('ORDERS'), { total: 12, rate: 2 });
  // A process that gets the same number counts from the beginning.
  living.add(3);
  const again = open('four', 3);
  again.publishCalls(calls(1, 1));
  assert.deepEqual(one.callsOfOthers('').get('ORDERS'), { total: 13, rate: 3 });
  for (const board of [one, two, three, again]) board.close();
});

it('waits at its start for another process that starts, longer than for a later write', async (t) => {
  const at = folder(t);
  const holder = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const database = new (require('node:sqlite').DatabaseSync)(workerData);
     database.exec('BEGIN EXCLUSIVE');
     parentPort.postMessage('held');
     setTimeout(() => database.exec('COMMIT'), 600);`,
    { eval: true, workerData: join(at, 'board.sqlite') },
  );
  await once(holder, 'message');
  const board = openBoard(at, { process: 'one', pid: process.pid });
  board.publishAddress({ service: 'rdcp', wanted: 'localhost:9465', url: 'http://localhost:9465' });
  assert.equal(board.addresses('rdcp').length, 1);
  board.close();
  await once(holder, 'exit');
});

it('names the addresses of processes that live', (t) => {
  const at = folder(t);
  const living = new Set([1, 2]);
  const isRunning = (pid: number) => living.has(pid);
  const one = openBoard(at, { process: 'one', pid: 1, isRunning });
  const two = openBoard(at, { process: 'two', pid: 2, isRunning });
  two.publishAddress({ service: 'rdcp', wanted: 'localhost:9465', url: 'http://localhost:9465' });
  assert.deepEqual(one.addresses('rdcp', 'localhost:9465'), [{ pid: 2, url: 'http://localhost:9465' }]);
  assert.deepEqual(one.addresses('rdcp', 'localhost:1'), []);
  living.delete(2);
  assert.deepEqual(one.addresses('rdcp'), []);
  for (const board of [one, two]) board.close();
});

it('the first process that asks about an event is the one to say it', (t) => {
  const at = folder(t);
  const one = openBoard(at, { process: 'one', pid: 1 });
  const two = openBoard(at, { process: 'two', pid: 2 });
  assert.deepEqual([one.claim('a'), two.claim('a'), two.claim('b'), one.claim('b')], [true, false, true, false]);
  two.close();
  assert.equal(two.claim('c'), false);
  one.close();
});

it('of counts that cannot all be written none is, and none written is no fault', (t) => {
  const at = folder(t);
  const one = openBoard(at, { process: 'one', pid: 1, isRunning: () => true });
  const two = openBoard(at, { process: 'two', pid: 2, isRunning: () => true });
  two.publishCalls([]);
  assert.throws(() => two.publishCalls([...calls(5, 2), { tenant: '', category: 'X', total: Number.NaN, rate: 0 }]));
  assert.equal(one.callsOfOthers('').size, 0);
  two.publishCalls(calls(1, 0));
  assert.equal(one.callsOfOthers('').get('ORDERS')?.total, 1);
  two.close();
  two.close();
  one.close();
});

it('an event is said rather than lost where the board fails', (t) => {
  const at = folder(t);
  const one = openBoard(at, { process: 'one', pid: 1 });
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const other = new DatabaseSync(join(at, 'board.sqlite'));
  other.exec('DROP TABLE said');
  other.close();
  assert.equal(one.claim('a'), true);
  one.close();
});
