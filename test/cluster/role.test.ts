import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { followCluster } from '../../src/control/cluster/following.ts';
import { clusterOfWorker, onBecomingPrimary } from '../../src/control/cluster/role.ts';
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
  assert.equal(clusterOfWorker(), undefined);
});

it('a worker knows its cluster, and never becomes a primary', (t) => {
  pretendWorker(t);
  assert.match(clusterOfWorker() ?? '', /^[\da-f]{16}$/);
  onBecomingPrimary(() => assert.fail())();
});

it('a process that has forked already is notified at once, another with its first fork', (t) => {
  const found: string[] = [];
  const stop = onBecomingPrimary((own) => found.push(own));
  assert.equal(found.length, 0);
  stop();
  pretend(t, cluster, { workers: { 1: {} } });
  onBecomingPrimary((own) => found.push(own))();
  assert.equal(found.length, 1);
});

it('a worker shares the folder of its cluster, listens by it, and leaves nothing', async (t) => {
  pretendWorker(t);
  const followed = followCluster({ failed: assert.fail, delay });
  const other = followCluster({ failed: assert.fail, delay });
  for (const each of [followed, other]) each.onJoined(() => assert.fail());
  const path = followed.folder?.path ?? '';
  const listen = (port: number) => async () => ({ url: `http://localhost:${port}` });
  assert.deepEqual(await followed.listen('shop', 'localhost:0', listen(1)), { url: 'http://localhost:1' });
  assert.deepEqual(await other.listen('shop', 'localhost:0', listen(1)), { url: 'http://localhost:1', shared: true });
  const taken = async () => assert.fail(Object.assign(new Error('taken'), { code: 'EADDRINUSE' }));
  assert.deepEqual(await other.listen('shop', 'localhost:0', taken), { url: 'http://localhost:1', shared: true });
  assert.deepEqual(
    [followed, other].map((each) => each.claim('a')),
    [true, false],
  );
  followed.close();
  assert.deepEqual([followed.folder, existsSync(path)], [undefined, true]);
  other.close();
  assert.equal(existsSync(path), false);
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
  assert.equal(followed.folder, undefined);
  assert.deepEqual(await followed.listen('shop', 'w', async () => ({ url: 'u' })), { url: 'u' });
  followed.close();
});
