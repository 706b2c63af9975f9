import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { hashApiKey, inspectApiKey } from '../../src/access/api-key.ts';
import { ensureDevKey, findDevKey } from '../../src/access/dev-key.ts';
import { newFolder } from '../support/folder.ts';

test('a development key is made once, private, and known by its hash alone', (t) => {
  const cwd = newFolder(t);
  const record = ensureDevKey(cwd);
  const key = findDevKey(cwd)?.key ?? assert.fail('no key was written');
  assert.deepEqual(inspectApiKey(key), { form: 'generated', env: 'dev', version: 1 });
  assert.deepEqual(record, {
    id: 'dev',
    hash: hashApiKey(key),
    clientId: 'dev',
    scopes: ['discovery', 'status', 'control', 'admin'],
  });
  assert.equal(statSync(join(cwd, '.rdcp')).mode & 0o777, 0o700);
  assert.equal(statSync(join(cwd, '.rdcp/dev-key')).mode & 0o777, 0o600);
  assert.deepEqual(ensureDevKey(cwd), record);
  assert.deepEqual(readdirSync(join(cwd, '.rdcp')).sort(), ['.gitignore', 'dev-key']);
  assert.equal(readFileSync(join(cwd, '.rdcp/.gitignore'), 'utf8'), '*\n');
});

const unusable: [string, (file: string) => void][] = [
  ['others can read', (file) => chmodSync(file, 0o644)],
  ['is cut short', (file) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 30))],
  ['is empty', (file) => writeFileSync(file, '')],
  [
    'is a link',
    (file) => {
      const target = `${file}-elsewhere`;
      writeFileSync(target, readFileSync(file), { mode: 0o600 });
      rmSync(file);
      symlinkSync(target, file);
    },
  ],
];
for (const [what, spoil] of unusable) {
  test(`a development key that ${what} is not used again`, (t) => {
    const cwd = newFolder(t);
    const before = ensureDevKey(cwd);
    spoil(join(cwd, '.rdcp/dev-key'));
    assert.equal(findDevKey(cwd)?.key, undefined);
    const after = ensureDevKey(cwd);
    assert.notEqual(after?.hash, before?.hash);
    assert.equal(hashApiKey(findDevKey(cwd)?.key ?? ''), after?.hash);
    assert.equal(statSync(join(cwd, '.rdcp/dev-key')).mode & 0o777, 0o600);
  });
}

test('a directory that others could write to is made private', (t) => {
  const cwd = newFolder(t);
  mkdirSync(join(cwd, '.rdcp'), { mode: 0o777 });
  ensureDevKey(cwd);
  assert.equal(statSync(join(cwd, '.rdcp')).mode & 0o777, 0o700);
});

test('where the folder cannot have a key, it is kept in a private one of this user below the temporary folder', (t) => {
  const cwd = newFolder(t);
  const temporary = newFolder(t);
  writeFileSync(join(cwd, '.rdcp'), 'a file in the way');
  const record = ensureDevKey(cwd, temporary);
  const { key, file } = findDevKey(cwd, temporary) ?? assert.fail('no key was written');
  assert.equal(hashApiKey(key), record?.hash);
  assert.equal(dirname(dirname(file)), temporary);
  assert.equal(statSync(dirname(file)).mode & 0o777, 0o700);
  assert.deepEqual(ensureDevKey(cwd, temporary), record);
  assert.equal(findDevKey(newFolder(t), temporary), undefined, 'another service has another key');
});

test('where no key can be kept, there is none', (t) => {
  const cwd = newFolder(t);
  writeFileSync(join(cwd, '.rdcp'), 'a file in the way');
  const temporary = join(cwd, '.rdcp', 'temporary');
  assert.equal(ensureDevKey(cwd, temporary), undefined);
  assert.equal(findDevKey(cwd, temporary), undefined);
});

const module = join(import.meta.dirname, '../../src/access/dev-key.ts');

test('where the working directory was deleted there is none', async () => {
  const script = `
    import { rmSync } from 'node:fs';
    import { ensureDevKey, findDevKey } from ${JSON.stringify(module)};
    process.chdir(process.argv[1]);
    rmSync(process.argv[1], { recursive: true });
    console.log(ensureDevKey(), findDevKey());`;
  const cwd = mkdtempSync(join(tmpdir(), 'rdcp-dev-'));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, cwd]);
  assert.equal(stdout, 'undefined undefined\n');
});

test('processes that start together agree on one key', async (t) => {
  const cwd = newFolder(t);
  const script = `import { ensureDevKey } from ${JSON.stringify(module)}; process.stdout.write(ensureDevKey(process.argv[1])?.hash);`;
  const run = promisify(execFile);
  const starts = Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '-e', script, cwd]));
  const hashes = new Set((await Promise.all(starts)).map(({ stdout }) => stdout));
  assert.deepEqual([...hashes], [hashApiKey(findDevKey(cwd)?.key ?? '')]);
});
