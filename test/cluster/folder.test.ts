import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { enterFolder } from '../../src/control/cluster/folder.ts';
import { newFolder } from '../support/folder.ts';

function folder(t: TestContext): string {
  const path = newFolder(t);
  return path;
}

const clustersIn = (base: string) => readdirSync(base).filter((name) => name !== 'door');

it('is private, kept while a process is in it, and removed by the last one', (t) => {
  const base = folder(t);
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
  const base = folder(t);
  const [one, two] = [enterFolder('a', base), enterFolder('a', base)];
  assert.deepEqual([one.put('x', '1'), two.put('x', '2'), two.read('x')], [true, false, '1']);
  assert.equal(statSync(join(one.path, 'x')).mode & 0o7777, process.platform === 'linux' ? 0o1600 : 0o600);
  assert.deepEqual([two.take('x'), one.take('x'), one.read('x')], ['1', undefined, undefined]);
  for (const each of [one, two]) each.leave();
});

it('what processes left that were killed is not taken over, and is removed', (t) => {
  const base = folder(t);
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
  const directory = folder(t);
  const prefix = join(directory, `rdcp-cluster-${process.getuid?.() ?? 'user'}`);
  mkdirSync(prefix);
  chmodSync(prefix, 0o777);
  symlinkSync(folder(t), `${prefix}-1`);
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
  const base = folder(t);
  mkdirSync(join(base, 'a'));
  writeFileSync(join(base, 'a', 'lock'), 'not a database, and long enough to be read as one: '.repeat(20));
  assert.throws(() => enterFolder('a', base), /not a database/);
});
