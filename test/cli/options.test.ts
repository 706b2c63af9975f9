import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from '../../src/tools/cli/command.ts';
import { root } from '../../src/tools/cli/commands/root.ts';
import { MAX_BUDGET_RATE, MAX_BUDGET_TOTAL, MAX_TAIL_LINES, MAX_TAIL_RATE } from '../../src/wire/constants.ts';
import { commandsOf } from './commands.ts';
import { rdcp } from './run.ts';

const NOBODY = ['--url', 'http://127.0.0.1:1'];
const USAGE = 2;
const UNREACHABLE = 4;

/** Operands that a command takes, so that its options alone are wrong. */
const operandsOf = ({ operands = '' }: Command) => operands.split(' ').flatMap((each) => (each === '' ? [] : ['5']));

test('no option of any command is taken twice, without its value or with an empty one', async () => {
  let options = 0;
  for (const [path, command] of await commandsOf(root.commands)) {
    for (const [name, { value, repeats }] of Object.entries(command.options)) {
      if (value === undefined) continue;
      options += 1;
      const refused = async (given: readonly string[], problem: RegExp) => {
        const args = [...path, ...operandsOf(command), ...given];
        const { code, stdout, stderr } = await rdcp(args);
        assert.deepEqual([code, stdout], [USAGE, ''], args.join(' '));
        assert.match(stderr, problem, args.join(' '));
        assert.match(stderr, /^rdcp: [^\n]+\n$/);
      };
      if (repeats !== true) {
        await refused([`--${name}=1`, `--${name}=2`], new RegExp(`--${name} was given more than once`));
      }
      await refused([`--${name}=`], new RegExp(`--${name} must not be empty`));
      await refused([`--${name}`, ' '], new RegExp(`--${name} must not be empty`));
      await refused([`--${name}`], new RegExp(`option '[^']*--${name} <[^>]+>' argument missing`));
    }
  }
  assert.ok(options > 100, `${options} options`);
});

for (const [args, option, most] of [
  [['enable', 'SQL'], 'rate', MAX_BUDGET_RATE],
  [['enable', 'SQL'], 'calls', MAX_BUDGET_TOTAL],
  [['toggle', 'SQL'], 'bytes', MAX_BUDGET_TOTAL],
  [['tail', 'SQL'], 'rate', MAX_TAIL_RATE],
  [['tail', 'SQL'], 'lines', MAX_TAIL_LINES],
  [['audit'], 'limit', 1000],
] as const) {
  test(`rdcp ${args[0]} --${option} takes what a service takes: 1 to ${most}`, async () => {
    const given = (value: unknown) => rdcp([...args, `--${option}=${value}`, ...NOBODY]);
    for (const value of [1, most, '01']) assert.equal((await given(value)).code, UNREACHABLE, `${value}`);
    for (const value of [0, most + 1, -1, 1.5, '1e3', '0x10', '+1', ' 1', '1 ', 'x', '٣', Number.MAX_SAFE_INTEGER]) {
      const { code, stderr } = await given(value);
      assert.equal(code, USAGE, `${value}`);
      assert.equal(stderr, `rdcp: --${option} must be a whole number from 1 to ${most}\n`);
    }
  });
}

for (const [command, most] of [
  ['enable', undefined],
  ['disable', undefined],
  ['toggle', undefined],
  ['tail', undefined],
  ['forecast', '1m'],
] as const) {
  test(`rdcp ${command} --for takes a duration${most === undefined ? '' : ` of at most ${most}`}`, async () => {
    const given = (value: string) => rdcp([command, 'SQL', `--for=${value}`, ...NOBODY]);
    for (const value of ['1s', '60s', '1m', '01m']) assert.equal((await given(value)).code, UNREACHABLE, value);
    const tooLong = most === undefined ? [] : ['61s', '2m', '1h', '1d'];
    for (const value of ['0s', '-1s', '1.5m', '5', '5 m', '5M', 'm', '5mm', '9999999999999999s', ...tooLong]) {
      const { code, stderr } = await given(value);
      assert.equal(code, USAGE, value);
      const problem = tooLong.includes(value) ? 'at most 60s' : 'a duration such as 30s, 5m or 2h';
      assert.equal(stderr, `rdcp: --for must be ${problem}\n`);
    }
  });
}

for (const command of ['enable', 'tail', 'forecast', 'watch']) {
  test(`rdcp ${command} refuses names that no category has, before anything is sent`, async () => {
    for (const name of [
      '',
      ' ',
      'SQL,',
      ',',
      'SQL POOL',
      'SQL;rm',
      '../SQL',
      '1SQL',
      '_SQL',
      'SQL-POOL',
      'É',
      '\u202eSQL',
    ]) {
      const { code, stdout, stderr } = await rdcp([command, name, ...NOBODY]);
      assert.deepEqual([code, stdout], [USAGE, ''], JSON.stringify(name));
      assert.match(stderr, /^rdcp: invalid category name '[^\n\u202e]*': use letters, digits and underscores[^\n]*\n$/);
    }
    const long = 'A'.repeat(64);
    assert.equal((await rdcp([command, long, 'x-custom-name', 'sql', 'sql', ...NOBODY])).code, UNREACHABLE);
    assert.equal((await rdcp([command, `${long}A`, ...NOBODY])).code, USAGE);
  });
}
