import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { enterFolder } from '../../src/control/cluster/folder.ts';
import { followCluster } from '../../src/control/cluster/following.ts';
import { clusterOfWorker, onBecomingPrimary } from '../../src/control/cluster/role.ts';
import { newFolder } from '../support/folder.ts';
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
  const temporary = newFolder(t);
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporary;
  t.after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
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

const clustersIn = (base: string) => readdirSync(base).filter((name) => name !== 'door');

it('is private, kept while a process is in it, and removed by the last one', (t) => {
  const base = newFolder(t);
  const one = enterFolder('a', base);
  assert.equal(statSync(one.path).mode & 0o777, 0o700);
  writeFileSync(join(one.path, 'state'), 'kept');
  const other = enterFolder('a', base);
  one.leave();
  assert.ok(existsSync(join(other.path, 'state')));
  other.leave();
  assert.deepEqual(clustersIn(base), []);
  other.leave();
});

it('a file is written by one process, and taken by one', (t) => {
  const base = newFolder(t);
  const [one, two] = [enterFolder('a', base), enterFolder('a', base)];
  assert.deepEqual([one.put('x', '1'), two.put('x', '2'), two.read('x')], [true, false, '1']);
  assert.equal(statSync(join(one.path, 'x')).mode & 0o7777, process.platform === 'linux' ? 0o1600 : 0o600);
  assert.deepEqual([two.take('x'), one.take('x'), one.read('x')], ['1', undefined, undefined]);
  for (const each of [one, two]) each.leave();
});

it('what processes left that were killed is not taken over, and is removed', (t) => {
  const base = newFolder(t);
  for (const name of ['a', 'b']) {
    mkdirSync(join(base, name), { mode: 0o700 });
    writeFileSync(join(base, name, 'state'), 'of others');
  }
  writeFileSync(join(base, 'stray'), '');
  const own = enterFolder('a', base);
  assert.deepEqual([clustersIn(base), existsSync(join(own.path, 'state'))], [['a', 'stray'], false]);
  rmSync(own.path, { recursive: true });
  own.leave();
});

it('names that others have taken take nothing away, and processes that start together use one folder', async (t) => {
  const directory = newFolder(t);
  const prefix = join(directory, `rdcp-cluster-${process.getuid?.() ?? 'user'}`);
  mkdirSync(prefix);
  chmodSync(prefix, 0o777);
  symlinkSync(newFolder(t), `${prefix}-1`);
  writeFileSync(`${prefix}-2`, '');
  const program = `
    const { enterFolder } = await import(${JSON.stringify(new URL('../../src/control/cluster/folder.ts', import.meta.url).href)});
    process.stdout.write(enterFolder('a').path);
    process.stdin.resume();
  `;
  const enter = async () => {
    const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
      env: { ...process.env, TMPDIR: directory },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => child.kill());
    return String((await once(child.stdout, 'data'))[0]);
  };
  const paths = await Promise.all(Array.from({ length: 4 }, enter));
  rmSync(prefix, { recursive: true });
  assert.deepEqual([...new Set([...paths, await enter()])], [join(`${prefix}-3`, 'a')]);
  assert.equal(statSync(`${prefix}-3`).mode & 0o777, 0o700);
});

it('an invalid lock is reported, and not taken for a held one', (t) => {
  const base = newFolder(t);
  mkdirSync(join(base, 'a'));
  writeFileSync(join(base, 'a', 'lock'), 'not a database, and long enough to be read as one: '.repeat(20));
  assert.throws(() => enterFolder('a', base), /not a database/);
});
