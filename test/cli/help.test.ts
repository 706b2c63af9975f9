import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VERSION } from '../../src/version.ts';
import { rdcp, rdcpProcess } from './run.ts';

for (const path of [[], ['keys'], ['keys', 'create'], ['token'], ['token', 'create'], ['enable'], ['audit']]) {
  const name = ['rdcp', ...path].join(' ');
  test(`${name} --help tells its use on stdout`, async () => {
    const { code, stdout, stderr } = await rdcp([...path, '--help']);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    assert.ok(stdout.startsWith(`Usage: ${name} `));
    assert.equal(
      stdout.split('\n').every((line) => line.length <= 120),
      true,
    );
  });
}

test('without a command the help goes to stderr, as wrong use', async () => {
  const { code, stdout, stderr } = await rdcpProcess([]);
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /^Usage: rdcp /);
});

test('--version prints the version of the package', async () => {
  assert.deepEqual(await rdcpProcess(['--version']), { code: 0, stdout: `${VERSION}\n`, stderr: '' });
});
