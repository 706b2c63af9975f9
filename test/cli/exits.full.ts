import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { root } from '../../src/tools/cli/commands/root.ts';
import { makeKey } from '../auth/records.ts';
import { tokenSettings } from '../server/tokens.ts';
import { newFolder } from '../support/folder.ts';
import { commandsOf } from './commands.ts';
import { type RunOptions, rdcp } from './run.ts';
import { realService } from './service.ts';

/** Commands without a service: none can refuse them or be unreachable. */
const ALONE = /^(?:logout|profiles|mcp|completion|init|keys .*|store migrate)$/;

describe('exit codes of every command', () => {
  const ops = makeKey({ id: 'ops', clientId: 'ops', scopes: ['admin'] });
  const folder = newFolder();
  const file = (name: string) => join(folder, name);
  writeFileSync(file('session'), 'a-refresh-token', { mode: 0o600 });
  const { place } = realService({
    security: { apiKeys: [ops.record], tokens: tokenSettings },
    categories: { EXITS: {} },
    emit: { to: () => {} },
  });

  const run = (args: readonly string[], options: RunOptions = {}) => {
    const seen = new AbortController();
    return rdcp(args, {
      ...options,
      // Ctrl-C once it shows something.
      ...(args[0] === 'watch' && { interrupted: seen.signal, heard: () => seen.abort() }),
      env: { RDCP_API_KEY: ops.key, RDCP_URL: place.url, XDG_CONFIG_HOME: folder, ...options.env },
    });
  };

  /** A use of each command: test/package/installed has every option. */
  const USES: readonly (readonly string[])[] = [
    ...['list', 'status', 'tenants', 'fleet', 'audit verify', 'audit', 'watch', 'metrics', 'health', 'notifications'],
    ...['tail EXITS --for 1s', 'forecast EXITS --for 1s', 'explain EXITS', 'failures', 'request EXITS --for 1s'],
    ...['wait 0', 'approve', 'console --no-open'],
    ...['enable', 'record', 'disable', 'quieten', 'toggle', 'reset', 'end'].map((each) => `${each} EXITS --dry-run`),
    ...['logout --profile shop', 'profiles', 'mcp --print-config', 'completion zsh', `init ${folder}`],
    'login --profile shop --url URL',
    `keys create --file ${file('keys.json')} --client a --scopes status`,
    `keys list --file ${file('keys.json')}`,
    `keys revoke --file ${file('keys.json')} key-0000`,
    'store migrate --store postgres://127.0.0.1:1/none',
    'token create',
    `token refresh --refresh-file ${file('session')}`,
    `token revoke --refresh-file ${file('session')}`,
  ].map((line) => line.split(' '));

  it('2 for an option that there is not, 4 where no service answers, 1 where it refuses', async () => {
    for (const [path] of await commandsOf(root.commands)) {
      const name = path.join(' ');
      const use =
        USES.find((words) => path.every((word, at) => words[at] === word)) ?? assert.fail(`no use of ${name}`);
      const at = (url: string) => (name === 'audit' ? ['audit'] : use.map((word) => (word === 'URL' ? url : word)));
      const given = (key: string) => ({ env: { RDCP_API_KEY: key }, ...(name === 'login' && { piped: key }) });
      const wrong = await run([...at(place.url), '--no-such-option'], given(ops.key));
      assert.deepEqual([wrong.code, wrong.stdout], [2, ''], `${name}: ${wrong.stderr}`);
      assert.match(wrong.stderr, /^rdcp: unknown option '--no-such-option'/);
      if (ALONE.test(name)) continue;
      const nowhere = 'http://127.0.0.1:1';
      const { env, ...piped } = given(ops.key);
      const unreachable = await run(at(nowhere), { ...piped, env: { ...env, RDCP_URL: nowhere } });
      assert.equal(unreachable.code, 4, `${name}: ${unreachable.stderr}`);
      assert.match(unreachable.stderr, /^rdcp: /m);
      // A token that is revoked is its own credential.
      if (name === 'token revoke') continue;
      const unknown = makeKey().key;
      const refused = await run(at(place.url), given(unknown));
      assert.equal(refused.code, 1, `${name}: ${refused.stderr}`);
      assert.match(refused.stderr, /^rdcp: [^\n]+\n$/, name);
      assert.ok(!refused.stderr.includes(unknown));
    }
  });
});
