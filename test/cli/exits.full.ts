import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createRdcp, type Rdcp } from '../../src/assembly/rdcp.ts';
import { root } from '../../src/tools/cli/commands/root.ts';
import { makeKey } from '../auth/records.ts';
import { tokenSettings } from '../server/tokens.ts';
import { newFolder } from '../support/folder.ts';
import { commandsOf } from './commands.ts';
import { type RunOptions, rdcp } from './run.ts';

/** Commands without a service: none can refuse them or be unreachable. */
const ALONE = [
  'logout',
  'profiles',
  'mcp',
  'completion',
  'init',
  'keys create',
  'keys list',
  'keys revoke',
  'store migrate',
];

const sentence = (path: readonly string[]) => path.join(' ');

describe('exit codes of every command', () => {
  const ops = makeKey({ id: 'ops', clientId: 'ops', scopes: ['admin'] });
  const folder = newFolder();
  let url = '';
  let service: Rdcp;
  const file = (name: string) => join(folder, name);

  before(async () => {
    service = createRdcp({
      server: { port: 0 },
      security: { apiKeys: [ops.record], tokens: tokenSettings },
      categories: { EXITS: {} },
      emit: { to: () => {} },
      announce: false,
    });
    url = (await service.listen()).url;
    writeFileSync(file('session'), 'a-refresh-token', { mode: 0o600 });
  });
  after(() => service.close());

  const run = (args: readonly string[], options: RunOptions = {}) => {
    const seen = new AbortController();
    return rdcp(args, {
      ...options,
      // Ctrl-C once it shows something.
      ...(args[0] === 'watch' && { interrupted: seen.signal, heard: () => seen.abort() }),
      env: { RDCP_API_KEY: ops.key, RDCP_URL: url, XDG_CONFIG_HOME: folder, ...options.env },
    });
  };

  /** A use of each command: test/package/installed has every option. */
  const USES = (): readonly (readonly string[])[] =>
    [
      ...['list', 'status', 'tenants', 'fleet', 'audit', 'audit verify', 'watch', 'metrics', 'health', 'notifications'],
      ...[
        'tail EXITS --for 1s',
        'forecast EXITS --for 1s',
        'explain EXITS',
        'failures',
        'request EXITS --for 1s',
        'wait 0',
        'approve',
        'console --no-open',
      ],
      ...['enable', 'record', 'disable', 'quieten', 'toggle', 'reset', 'end'].map(
        (action) => `${action} EXITS --dry-run`,
      ),
      ...['logout --profile shop', 'profiles', 'mcp --print-config', 'completion zsh', `init ${folder}`],
      `login --profile shop --url ${url}`,
      `keys create --file ${file('keys.json')} --client a --scopes status`,
      `keys list --file ${file('keys.json')}`,
      `keys revoke --file ${file('keys.json')} key-0000`,
      'store migrate --store postgres://127.0.0.1:1/none',
      'token create',
      `token refresh --refresh-file ${file('session')}`,
      `token revoke --refresh-file ${file('session')}`,
    ].map((line) => line.split(' '));

  it('2 for an option that there is not, 4 where no service answers, 1 where it refuses', async () => {
    const uses = USES();
    for (const [path] of await commandsOf(root.commands)) {
      const name = sentence(path);
      const args =
        uses.find((use) => path.every((word, at) => use[at] === word) && !(name === 'audit' && use[1] === 'verify')) ??
        assert.fail(`no use of ${name}`);
      const options = name === 'login' ? { piped: ops.key } : {};
      const wrong = await run([...args, '--no-such-option'], options);
      assert.equal(wrong.code, 2, `${name}: ${wrong.stderr}`);
      assert.match(wrong.stderr, /^rdcp: unknown option '--no-such-option'/);
      assert.equal(wrong.stdout, '');
      if (ALONE.includes(name)) continue;
      const asking = args.map((word) => (word === url ? '' : word));
      const at = (where: string) => asking.map((word) => (word === '' ? where : word));
      const unreachable = await run(at('http://127.0.0.1:1'), { ...options, env: { RDCP_URL: 'http://127.0.0.1:1' } });
      assert.equal(unreachable.code, 4, `${name}: ${unreachable.stderr}`);
      assert.match(unreachable.stderr, /^rdcp: /m);
      // A token that is revoked is its own credential.
      if (name === 'token revoke') continue;
      const unknown = makeKey().key;
      const refused = await run(at(url), {
        ...options,
        env: { RDCP_API_KEY: unknown },
        ...(name === 'login' && { piped: unknown }),
      });
      assert.equal(refused.code, 1, `${name}: ${refused.stderr}`);
      assert.match(refused.stderr, /^rdcp: [^\n]+\n$/, name);
      assert.ok(!refused.stderr.includes(unknown));
    }
  });
});
