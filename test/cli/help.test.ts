import assert from 'node:assert/strict';
import { test } from 'node:test';
import { root } from '../../src/tools/cli/commands/root.ts';
import { VERSION } from '../../src/wire/version.ts';
import { commandsOf } from './commands.ts';
import { rdcp, rdcpProcess } from './run.ts';

test('the help of every command is ASCII, folded on a narrow terminal, and has 50 rows at most on one of 80 columns', async () => {
  const commands = (await commandsOf(root.commands)).map(([path, { examples }]) => ({ path, examples }));
  for (const { path, examples } of [{ path: [], examples: [] }, ...commands]) {
    for (const columns of [40, 80]) {
      const { code, stdout, stderr } = await rdcp([...path, '--help'], { typed: '', columns });
      assert.deepEqual([code, stderr], [0, '']);
      assert.ok(stdout.startsWith(`Usage: ${['rdcp', ...path].join(' ')} `), stdout);
      assert.match(stdout, /^[\n\x20-\x7e]+$/, path.join(' '));
      const rows = stdout.split('\n').length;
      assert.ok(columns < 80 || rows <= 50, `${path.join(' ')}: ${rows} rows`);
      // Examples are to be copied, and some option with its value has no room beside it.
      const prose = stdout.split('\n').filter((line) => !examples.includes(line.trim()) && !/^ +-/.test(line));
      for (const line of prose) {
        assert.ok(
          line.length <= columns || !line.trim().includes(' '),
          `${path.join(' ')}, ${columns} columns: ${line}`,
        );
      }
    }
  }
});

test('without a command the three things to do first go to stderr, as a usage error', async () => {
  const { code, stdout, stderr } = await rdcpProcess([]);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(
    stderr,
    /^Usage: rdcp .*\n\n {2}rdcp login .*\n {2}rdcp list .*\n {2}rdcp tail .*\n\nAll commands: rdcp --help\n$/,
  );
  for (const line of stderr.split('\n')) assert.ok(line.length <= 80, line);
});

test('--version prints the version of the package', async () => {
  assert.deepEqual(await rdcpProcess(['--version']), { code: 0, stdout: `${VERSION}\n`, stderr: '' });
});
