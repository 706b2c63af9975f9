import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { root } from '../../src/cli/commands/root.ts';
import { CONNECTION_OPTIONS } from '../../src/cli/connection.ts';
import { createRdcp, type Rdcp } from '../../src/rdcp.ts';
import { makeKey } from '../auth/records.ts';
import { tokenSettings } from '../server/tokens.ts';
import { commandsOf } from './commands.ts';
import { type RunOptions, rdcp } from './run.ts';
import { service as answering } from './service.ts';

/** How a command is used; the exit code is 0. */
interface Use {
  readonly args: readonly string[];
  readonly options?: RunOptions;
  /** @default 0 */
  readonly code?: number;
}

/** Options that only a longer run shows, and the test that makes it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'enable --forecast': 'tail.test.ts',
  'login --ca': 'profiles.test.ts',
  'request --also': 'request.test.ts',
  'login --cert': 'profiles.test.ts',
  'login --cert-key': 'profiles.test.ts',
};
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
  let folder = '';
  let url = '';
  let service: Rdcp;
  const file = (name: string) => join(folder, name);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rdcp-exits-'));
    service = createRdcp({
      server: { port: 0 },
      store: `sqlite:${file('state.sqlite')}`,
      security: { apiKeys: [ops.record], tokens: tokenSettings },
      tenancy: { isolation: 'organization', tenants: { acme: {} } },
      categories: { EXITS: {} },
      tail: { historySeconds: 5, historyCategories: ['EXITS'] },
      emit: { to: () => {} },
      announce: false,
    });
    url = (await service.listen()).url;
    const { publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(file('public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    writeFileSync(file('records.jsonl'), '');
    mkdirSync(file('project'));
    writeFileSync(file('project/package.json'), JSON.stringify({ scripts: { start: 'node server.js' } }));
    writeFileSync(file('project/server.js'), '');
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  const run = (args: readonly string[], options: RunOptions = {}) => {
    const seen = new AbortController();
    return rdcp(args, {
      ...options,
      // Ctrl-C once it shows something.
      ...(args[0] === 'watch' && { interrupted: seen.signal, heard: () => seen.abort() }),
      env: { RDCP_API_KEY: ops.key, RDCP_URL: url, XDG_CONFIG_HOME: folder, ...options.env },
    });
  };

  const BUDGET = ['--rate', '9', '--calls', '99', '--bytes', '9999'];
  const SOME = ['--match', 'user.id=42', '--where', 'rows > 1', '--text', 'query*', '--sample', '1/2'];
  /** Which processes, in ways that exclude each other. */
  const PROCESSES = [['--one'], ['--percent', '50'], ['--version', '1.4.2'], ['--instance', 'vm:1']];
  const FAILED = ['--on-error', '--slower-than', '2s'];
  const SURE = ['--reason', 'because', '--dry-run', '--yes'];
  /** The commands that take several services. */
  const OF_SEVERAL = [
    ['list'],
    ['status'],
    ['audit'],
    ['fleet'],
    ['forecast', 'EXITS', '--for', '1s'],
    ['watch'],
    ['tail', 'EXITS', '--for', '1s'],
    ['request', 'EXITS', '--for', '1s', '--tail'],
    ['enable', 'EXITS', ...SURE],
    ['disable', 'EXITS', ...SURE],
    ['quieten', 'EXITS', ...SURE],
    ['reset', 'EXITS', ...SURE],
    ['end', 'EXITS', ...SURE],
  ];
  /** In this order: some use what others have written. */
  const USES = (): readonly Use[] => [
    { args: ['list', '--all'] },
    { args: ['list', 'EXITS', '--measure'] },
    { args: ['list', '--on'] },
    { args: ['status'] },
    { args: ['enable', 'EXITS', '--for', '1m', ...BUDGET, ...SURE] },
    { args: ['enable', 'EXITS', ...SOME, ...FAILED, ...SURE] },
    ...PROCESSES.map((part) => ({ args: ['enable', 'EXITS', ...part, ...SURE] })),
    { args: ['enable', 'EXITS', '--unlimited', '--reason', 'because'] },
    { args: ['enable', 'EXITS', '--level', 'info', '--permanent', ...SURE] },
    { args: ['quieten', 'EXITS', '--above', 'error', '--for', '1m', ...SURE] },
    { args: ['disable', 'EXITS', '--for', '1m', ...SURE] },
    { args: ['toggle', 'EXITS', '--for', '1m', ...BUDGET, ...SURE] },
    { args: ['toggle', 'EXITS', '--unlimited', ...SURE] },
    { args: ['toggle', 'EXITS', '--permanent', '--dry-run'] },
    { args: ['reset', '--all', ...SURE] },
    { args: ['end', '--all', ...SURE] },
    { args: ['end', '--id', '0123456789ab', ...SURE] },
    { args: ['enable', 'EXITS', '--permanent'] },
    { args: ['enable', 'EXITS', '--print'] },
    { args: ['tail', 'EXITS', '--for', '1s', '--rate', '5', '--lines', '1', '--also-log', ...SOME] },
    { args: ['request', 'EXITS', '--for', '1s', '--tail', '--reason', 'because', '--output', 'json'] },
    { args: ['tail', 'EXITS', '--for', '1s', ...FAILED] },
    { args: ['tail', 'EXITS', '--for', '1s', '--since', '5s'] },
    ...PROCESSES.map((part) => ({ args: ['tail', 'EXITS', '--for', '1s', ...part] })),
    { args: ['request', 'EXITS', '--for', '1s', '--json'] },
    ...PROCESSES.map((part) => ({ args: ['request', 'EXITS', '--for', '1s', ...part] })),
    { args: ['forecast', 'EXITS', '--for', '1s', ...SOME, ...FAILED] },
    ...PROCESSES.map((part) => ({ args: ['forecast', 'EXITS', '--for', '1s', ...part] })),
    { args: ['watch', 'EXITS'] },
    { args: ['metrics'] },
    { args: ['tenants'] },
    { args: ['health'] },
    { args: ['notifications'] },
    { args: ['approve'] },
    { args: ['approve', '0123456789ab'], code: 1 },
    { args: ['fleet'] },
    { args: ['wait', '0', '--timeout', '30s'] },
    { args: ['wait', '999999', '--timeout', '1s'], code: 3 },
    { args: ['console', '--no-open'] },
    { args: ['audit', '--limit', '5', '--since', '2h', '--until', '9999-12-31T23:59:59.999Z', '--client', 'ops'] },
    { args: ['audit', '--action', 'enable', '--outcome', 'success', '--category', 'exits', '--cursor', 'OTk5'] },
    { args: ['audit', 'verify'] },
    {
      args: ['audit', 'verify', '--store', `sqlite:${file('state.sqlite')}`, '--save-checkpoints', file('checkpoints')],
    },
    { args: ['audit', 'verify', '--checkpoints', file('checkpoints')] },
    { args: ['audit', 'verify', '--checkpoint', `${'0'.repeat(8)}:1:${'0'.repeat(64)}`], code: 1 },
    { args: ['audit', 'verify', '--records', file('records.jsonl'), '--service', 'shop'] },
    { args: ['audit', 'verify', '--public-key', file('public.pem')], code: 1 },
    { args: ['audit', 'verify', '--public-key', file('public.pem'), '--signed-since', '9999-01-01T00:00:00.000Z'] },
    { args: ['login', '--profile', 'shop', '--url', url, '--tenant', 'acme'], options: { piped: ops.key } },
    { args: ['profiles'] },
    { args: ['mcp', '--print-config', '--allow-writes'] },
    ...OF_SEVERAL.flatMap((args) => [
      { args: [...args, '--service', 'shop,shop'] },
      { args: [...args, '--all-services'] },
    ]),
    { args: ['logout', '--profile', 'shop'] },
    { args: ['logout', '--profile', 'shop'], code: 1 },
    { args: ['completion', 'zsh'] },
    { args: ['init', '--write', file('project')] },
    { args: ['init', file('nowhere')], code: 2 },
    {
      args: [
        ...['keys', 'create', '--file', file('keys.json'), '--client', 'a', '--scopes', 'status', '--tenant', 'acme'],
        ...['--user', 'ann', '--env', 'test', '--expires', '1d'],
      ],
    },
    {
      args: [
        ...[
          'keys',
          'create',
          '--file',
          file('keys.json'),
          '--client',
          'agent',
          '--scopes',
          'control',
          '--allow',
          'DB_*',
        ],
        ...['--allow-actions', 'enable', '--allow-for', '15m', '--allow-rate', '9', '--allow-calls', '99'],
        ...['--allow-bytes', '9999', '--allow-tenants', 'a*', '--redact-tail', '--approval'],
      ],
    },
    {
      args: [
        'keys',
        'create',
        '--file',
        file('keys.json'),
        '--client',
        'b',
        '--scopes',
        'tail',
        '--tenants',
        'acme,b*',
      ],
    },
    { args: ['keys', 'list', '--file', file('keys.json')] },
    { args: ['keys', 'revoke', '--file', file('keys.json'), 'key-0000'], code: 1 },
    // With a database: store-migrate.test.ts.
    { args: ['store', 'migrate', '--store', 'postgres://127.0.0.1:1/none'], code: 1 },
    { args: ['token', 'create', '--scopes', 'status', '--refresh-file', file('session')] },
    { args: ['token', 'refresh', '--scopes', 'status', '--refresh-file', file('session')] },
    { args: ['token', 'revoke', '--refresh-file', file('session')] },
    { args: ['token', 'revoke', '--token-file', file('token')] },
    { args: ['login', '--profile', 'by-token', '--url', url, '--token'], options: { piped: 'nonsense' }, code: 1 },
  ];

  it('0 when it is done, with every option that it has; 1 and 3 where it is not so', async () => {
    const commands = await commandsOf(root.commands);
    const missing = new Set(
      commands.flatMap(([path, { options }]) => Object.keys(options).map((name) => `${sentence(path)} --${name}`)),
    );
    for (const { args, options, code = 0 } of USES()) {
      if (args.includes(file('token'))) {
        const { stdout } = await run(['token', 'create', '--scopes', 'status']);
        writeFileSync(file('token'), stdout, { mode: 0o600 });
      }
      const done = await run(args, options);
      assert.equal(done.code, code, `rdcp ${args.join(' ')}: ${done.stderr}${done.stdout}`);
      const path = commands
        .map(([words]) => words)
        .filter((words) => words.every((word, at) => args[at] === word))
        .sort((a, b) => b.length - a.length)[0];
      for (const word of args) missing.delete(`${sentence(path ?? [])} ${word}`);
    }
    for (const [use, test] of Object.entries(ELSEWHERE)) {
      const [, option = ''] = use.split(' --');
      assert.ok(readFileSync(join(import.meta.dirname, test), 'utf8').includes(`--${option}`), `${use} in ${test}`);
      assert.ok(missing.delete(use), `${use} is used here`);
    }
    // How a command finds its service is one thing for all: profiles.test.ts, connection.test.ts, service.test.ts.
    const own = [...missing].filter((use) => !Object.hasOwn(CONNECTION_OPTIONS, use.split(' --')[1] ?? ''));
    assert.deepEqual(own, [], 'options that no test uses');
  });

  it('2 for an option that there is not, 4 where no service answers, 1 where it refuses', async () => {
    const uses = USES();
    for (const [path] of await commandsOf(root.commands)) {
      const name = sentence(path);
      const { args, options } =
        uses.find(
          (use) => path.every((word, at) => use.args[at] === word) && !(name === 'audit' && use.args[1] === 'verify'),
        ) ?? assert.fail(`no use of ${name}`);
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
        ...(options?.piped !== undefined && { piped: unknown }),
      });
      assert.equal(refused.code, 1, `${name}: ${refused.stderr}`);
      assert.match(refused.stderr, /^rdcp: [^\n]+\n$/, name);
      assert.ok(!refused.stderr.includes(unknown));
    }
  });

  it('2 with what goes together, before anything is sent or written', async () => {
    for (const [args, message] of [
      [['login', '--cert', 'cert.pem'], '--cert and --cert-key come together'],
      [['token', 'revoke'], 'exactly one of --refresh-file and --token-file is required'],
      [
        ['token', 'revoke', '--refresh-file', 'a', '--token-file', 'b'],
        'exactly one of --refresh-file and --token-file is required',
      ],
      [['audit', 'verify', '--store', 'mysql://db'], '--store must be sqlite:FILE, redis://HOST or postgres://HOST'],
      [['list', ops.key], 'unexpected API key among the arguments: pass it with --key-file or RDCP_API_KEY'],
    ] as const) {
      const { code, stdout, stderr } = await run(args, { env: { RDCP_URL: 'http://127.0.0.1:1' } });
      assert.deepEqual([code, stdout, stderr], [2, '', `rdcp: ${message}\n`], args[0]);
    }
  });

  it('3 where a change, or a measurement, is not of every process', async (t) => {
    const change = { category: 'SQL', previousState: false, newState: true, effectiveAt: '2026-01-01T00:00:00.000Z' };
    const partial = await answering(t, { status: 'partial', message: 'not everywhere', changes: [change] });
    for (const action of ['enable', 'disable', 'toggle', 'reset']) {
      const { code, stderr } = await run([action, 'SQL', '--url', partial.url]);
      assert.deepEqual([code, stderr], [3, 'rdcp: partially applied: not everywhere\n']);
    }
    const failed = await answering(t, { status: 'failed', message: 'not at all', changes: [] });
    assert.equal((await run(['enable', 'SQL', '--url', failed.url])).code, 1);
    const fewer = await answering(t, { instances: { asked: 3, answered: 2 }, categories: {} });
    const { code, stderr } = await run(['forecast', 'SQL', '--for', '1s', '--url', fewer.url]);
    assert.equal(code, 3);
    assert.match(stderr, /^1 process of 3 did not answer/);
  });
});
