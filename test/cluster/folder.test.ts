import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { enterFolder } from '../../src/control/cluster/folder.ts';

function base(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-folder-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'clusters');
}

it('is private, kept while anybody is in it, and removed by the last one', (t) => {
  const all = base(t);
  const one = enterFolder('a', all);
  assert.equal(statSync(one.path).mode & 0o777, 0o700);
  writeFileSync(join(one.path, 'state'), 'kept');
  const other = enterFolder('a', all);
  one.leave();
  assert.ok(existsSync(join(other.path, 'state')));
  other.leave();
  assert.deepEqual(readdirSync(all), []);
});

it('what processes left that were killed is not taken over, and is removed', (t) => {
  const all = base(t);
  for (const name of ['a', 'b']) {
    mkdirSync(join(all, name), { recursive: true, mode: 0o700 });
    writeFileSync(join(all, name, 'state'), 'of others');
  }
  chmodSync(all, 0o700);
  const own = enterFolder('a', all);
  assert.deepEqual([readdirSync(all), existsSync(join(own.path, 'state'))], [['a'], false]);
  own.leave();
});

it('a name that another user has taken takes nothing away, and processes that start together use one folder', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-squatted-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const prefix = join(directory, `rdcp-cluster-${process.getuid?.() ?? 'user'}`);
  for (const squatted of [prefix, `${prefix}-AAAAAA`]) {
    mkdirSync(squatted);
    chmodSync(squatted, 0o777);
  }
  const program = `
    const { enterFolder } = await import(${JSON.stringify(new URL('../../src/control/cluster/folder.ts', import.meta.url).href)});
    process.stdout.write(enterFolder('a').path);
    process.stdin.resume();
  `;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
      env: { ...process.env, TMPDIR: directory },
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  t.after(() => children.map((child) => child.kill()));
  const paths = await Promise.all(children.map(async ({ stdout }) => String((await once(stdout, 'data'))[0])));
  assert.equal(new Set(paths).size, 1, paths.join(', '));
  const [path = ''] = paths;
  assert.match(path, /rdcp-cluster-[^/]+-[^/]{6}\/a$/);
  assert.equal(statSync(path).mode & 0o777, 0o700);
});

it('a folder that others may write to is refused', { skip: process.getuid === undefined && 'no modes here' }, (t) => {
  const all = base(t);
  mkdirSync(all);
  chmodSync(all, 0o777);
  assert.throws(() => enterFolder('a', all), /open to other users/);
});

it('a file or a link in its place is refused', (t) => {
  const all = base(t);
  const elsewhere = base(t);
  mkdirSync(elsewhere, { recursive: true, mode: 0o700 });
  symlinkSync(elsewhere, all);
  assert.throws(() => enterFolder('a', all), /the folder is a file or a link/);
});

it('an invalid lock is reported, and not taken for a held one', (t) => {
  const all = base(t);
  mkdirSync(join(all, 'a'), { recursive: true, mode: 0o700 });
  writeFileSync(join(all, 'a', 'lock'), 'not a database, and long enough to be read as one: '.repeat(20));
  assert.throws(() => enterFolder('a', all), /not a database/);
});

it('an abandoned folder that cannot be locked stays, and hinders no cluster', (t) => {
  const all = base(t);
  mkdirSync(all, { mode: 0o700 });
  writeFileSync(join(all, 'stray'), '');
  const own = enterFolder('a', all);
  assert.deepEqual(readdirSync(all), ['a', 'stray']);
  own.leave();
});

it('may be left twice, and after it was removed', (t) => {
  const all = base(t);
  const own = enterFolder('a', all);
  rmSync(own.path, { recursive: true });
  own.leave();
  own.leave();
  assert.deepEqual(readdirSync(all), []);
});
