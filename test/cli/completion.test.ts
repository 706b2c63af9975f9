// In a process of its own: the shell has a time limit for what it asks.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { makeKey } from '../auth/records.ts';
import { withProgram } from '../examples/required-program.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { rdcp } from './run.ts';
import { madeUp, realService } from './service.ts';

/** Categories that come too late are left out, since a person waits: then the key is pressed once more. */
async function categoriesOf(press: () => Promise<string[]>): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    const found = await press();
    if (tries === 10 || found.some((line) => /^complete_/i.test(line))) return found;
  }
}

describe('completion of the command line', { concurrency: 2 }, () => {
  const viewer = makeKey({ id: 'viewer', scopes: ['discovery'] });
  const { service, place } = realService({}, [viewer]);
  service.category('COMPLETE_POOL', { description: 'the pool:\twith a tab' });
  service.category('COMPLETE_QUERIES');

  const offered = async (words: string[], env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await rdcp(['__complete', ...words], {
      env: { RDCP_URL: place.url, RDCP_API_KEY: viewer.key, ...env },
    });
    assert.deepEqual([code, stderr], [0, '']);
    return stdout.split('\n').filter((line) => line !== '');
  };
  const texts = async (...words: string[]) => (await offered(words)).map((line) => line.split('\t')[0] ?? '');

  it('offers commands, subcommands, options and the values of options', async () => {
    assert.deepEqual(await texts('en'), ['enable', 'end']);
    assert.deepEqual(await texts('audit', 'v'), ['verify']);
    assert.deepEqual(await texts('keys', ''), ['create', 'list', 'revoke']);
    assert.deepEqual(await texts('enable', '--perm'), ['--permanent']);
    assert.deepEqual(await texts('list', '-o', ''), ['table', 'json', 'wide']);
    assert.deepEqual(await texts('list', '--output=w'), ['--output=wide']);
    assert.deepEqual(await texts('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(await texts('list', '--key-file', ''), [':files']);
    assert.deepEqual(await texts('enable', '--for', ''), []);
    assert.deepEqual(await texts('audit', '--outcome', ''), ['success', 'partial', 'failed', 'denied']);
    assert.deepEqual(await texts('audit', '--action', 'token.re'), ['token.refresh', 'token.revoke', 'token.reuse']);
    assert.deepEqual(await texts('audit', '--action=enab'), ['--action=enable']);
    for (const [words, option] of [
      [['audit', 'verify'], '--records'],
      [['keys', 'create'], '--file'],
      [['token', 'revoke'], '--refresh-file'],
      [['login'], '--cert-key'],
    ] as const) {
      assert.deepEqual(await texts(...words, option, ''), [':files'], option);
    }
  });

  it('offers the categories of the service that the words name, but those given', async () => {
    const categories = (...words: string[]) => categoriesOf(() => texts(...words));
    assert.deepEqual(await categories('enable', 'COMPLETE_'), ['COMPLETE_POOL', 'COMPLETE_QUERIES']);
    assert.deepEqual(await categories('disable', '--for', '5m', 'COMPLETE_POOL', ''), ['COMPLETE_QUERIES']);
    assert.deepEqual(await categories('enable', 'complete_p'), ['complete_pool']);
    assert.deepEqual(await categories('audit', '--category', 'COMPLETE_P'), ['COMPLETE_POOL']);
    assert.deepEqual(await categories('audit', '--category=complete_p'), ['--category=complete_pool']);
    const described = await categoriesOf(() => offered(['enable', 'COMPLETE_P']));
    assert.deepEqual(described, ['COMPLETE_POOL\tthe pool: with a tab']);
    assert.deepEqual(await texts('enable', '--url', 'http://127.0.0.1:1', ''), []);
    assert.deepEqual(await texts('enable', '--', '--'), [], 'no option follows it');
    assert.deepEqual(await categories('enable', '--', 'COMPLETE_POOL', 'COMPLETE_'), ['COMPLETE_QUERIES']);
  });

  it('is silent where the service refuses, is slow, or names what is no category', async (t) => {
    assert.deepEqual(await offered(['enable', ''], { RDCP_API_KEY: 'x'.repeat(40) }), []);
    let answer =
      '{"protocol":"rdcp/1.0","categories":[{"name":"$(touch x)"},{"name":"COMPLETE_GOOD","description":""}]}';
    const strange = await madeUp(t, (_, response) => {
      if (answer !== '') response.end(answer);
    });
    const good = await categoriesOf(() => offered(['enable', ''], { RDCP_URL: strange }));
    assert.deepEqual(good, ['COMPLETE_GOOD\t']);
    answer = '';
    assert.deepEqual(await offered(['enable', ''], { RDCP_URL: strange }), []);
  });

  /** The words after a shell has completed them, by the script that `rdcp completion` prints. */
  async function shell(t: TestContext, name: string, ending: string, script: string): Promise<string[]> {
    const directory = newFolder(t);
    const bin = join(directory, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'rdcp'), `#!/bin/sh\nexec '${process.execPath}' '${built('cli/main.js')}' "$@"\n`);
    chmodSync(join(bin, 'rdcp'), 0o755);
    const { stdout } = await rdcp(['completion', name]);
    const file = join(directory, `completion.${name}`);
    writeFileSync(file, stdout);
    const syntax = spawnSync(name, ['-n', file], { encoding: 'utf8' });
    assert.equal(syntax.status, 0, syntax.stderr);
    const env = {
      ...process.env,
      HOME: directory,
      RDCP_URL: place.url,
      RDCP_API_KEY: viewer.key,
      PATH: `${bin}:${process.env.PATH}`,
    };
    const args = [ending, `source '${file}'\n${script}`];
    return categoriesOf(async () => {
      const found = await promisify(execFile)(name, name === 'bash' ? ['--norc', ...args] : args, {
        env,
        cwd: directory,
      });
      return found.stdout.split('\n').filter((line) => line !== '');
    });
  }

  it('works in bash', async (t) => {
    const script = `COMP_WORDS=(rdcp enable --for 5m COMPLETE_); COMP_CWORD=4; _rdcp; printf '%s\\n' "\${COMPREPLY[@]}"
      COMP_WORDS=(rdcp list --key-file com); COMP_CWORD=3; _rdcp; printf '%s\\n' "\${COMPREPLY[@]}"
      complete -p rdcp`;
    assert.deepEqual(await shell(t, 'bash', '-c', script), [
      'COMPLETE_POOL',
      'COMPLETE_QUERIES',
      'completion.bash',
      'complete -F _rdcp rdcp',
    ]);
  });

  inFull('works in fish', (t) =>
    withProgram(t, 'fish', async () => {
      const found = await shell(t, 'fish', '-c', "complete -C 'rdcp enable COMPLETE_'");
      assert.deepEqual(found, ['COMPLETE_POOL\tthe pool: with a tab', 'COMPLETE_QUERIES']);
    }),
  );

  inFull('works in zsh', (t) =>
    withProgram(t, 'zsh', async () => {
      // The completion system has it show what it is given; here it prints that.
      const script = `_describe() { print -l -- "\${(@P)2}" }
        words=(rdcp enable COMPLETE_); CURRENT=3; _rdcp`;
      const found = await shell(t, 'zsh', '-fc', script);
      assert.deepEqual(found, ['COMPLETE_POOL:the pool: with a tab', 'COMPLETE_QUERIES:']);
    }),
  );
});
