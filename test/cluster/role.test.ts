import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { followCluster } from '../../src/control/cluster/following.ts';
import { onBecomingPrimary, workerRole } from '../../src/control/cluster/role.ts';
import { virtualTime } from '../support/virtual-time.ts';

/** Until the test's end this process looks like another to node:cluster. */
function pretend(t: TestContext, target: object, values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    const before = Object.getOwnPropertyDescriptor(target, name);
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
    t.after(() => {
      if (before === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, before);
    });
  }
}

function pretendWorker(t: TestContext): string {
  pretend(t, process, { channel: {} });
  pretend(t, cluster, { isWorker: true, isPrimary: false });
  const temporary = mkdtempSync(join(tmpdir(), 'rdcp-role-'));
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporary;
  t.after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    rmSync(temporary, { recursive: true });
  });
  return temporary;
}

const delay = virtualTime().delay;

it('a process with a channel that node:cluster did not fork is no worker', (t) => {
  pretend(t, process, { channel: {} });
  assert.equal(workerRole(), undefined);
});

it('a worker knows its cluster, and never becomes a primary', (t) => {
  pretendWorker(t);
  const role = workerRole();
  assert.match(`${role?.name} ${role?.cluster}`, /^worker [\da-f]{16}$/);
  onBecomingPrimary(() => assert.fail())();
});

it('a process that has forked already is notified at once, another with its first fork', (t) => {
  const names: string[] = [];
  const stop = onBecomingPrimary(({ name }) => names.push(name));
  assert.equal(names.length, 0);
  stop();
  pretend(t, cluster, { workers: { 1: {} } });
  onBecomingPrimary(({ name }) => names.push(name))();
  assert.deepEqual(names, ['primary']);
});

it('a worker shares the folder of its cluster, listens by it, and leaves nothing', async (t) => {
  pretendWorker(t);
  const followed = followCluster({ failed: assert.fail, delay });
  followed.onJoined(() => assert.fail());
  const { membership, board } = followed;
  assert.equal(membership?.role, 'worker');
  const listening = await followed.listen('shop', 'localhost:1', async () => ({ url: 'http://localhost:1' }));
  assert.deepEqual(listening, { url: 'http://localhost:1' });
  assert.deepEqual(board?.addresses('shop'), [{ pid: process.pid, url: 'http://localhost:1' }]);
  followed.close();
  assert.deepEqual([followed.board, existsSync(membership.folder)], [undefined, false]);
  followed.close();
});

it('a worker that cannot share says why, and listens alone', async (t) => {
  const temporary = pretendWorker(t);
  process.env.TMPDIR = join(temporary, 'file');
  writeFileSync(process.env.TMPDIR, '');
  const problems: string[] = [];
  const followed = followCluster({ failed: (problem) => problems.push(problem), delay });
  followed.onJoined(() => assert.fail());
  assert.match(problems.join(), /ENOTDIR|EEXIST/);
  assert.equal(followed.board, undefined);
  assert.deepEqual(await followed.listen('shop', 'w', async () => ({ url: 'u' })), { url: 'u' });
  followed.close();
});
