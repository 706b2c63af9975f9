import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it, type TestContext } from 'node:test';
import { createRdcp } from '../../src/index.ts';
import { createTerminal } from '../../src/tools/cli/terminal.ts';
import { makeKey } from '../auth/records.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { type RunOptions, rdcp } from './run.ts';
import { service as answering } from './service.ts';

describe('profiles of the command line', () => {
  const operator = makeKey({ id: 'operator', scopes: ['discovery', 'control'] });
  const service = createRdcp({ server: { port: 0 }, security: { apiKeys: [operator.record] }, announce: false });
  service.category('PROFILES_SQL');
  let url = '';
  before(async () => {
    url = (await service.listen()).url;
  });
  after(() => service.close());

  function setUp(t: TestContext) {
    const config = newFolder(t);
    const file = join(config, 'rdcp', 'profiles.json');
    const run = (args: string[], options: RunOptions = {}) =>
      rdcp(args, { cwd: config, ...options, env: { XDG_CONFIG_HOME: config, ...options.env } });
    const login = (...args: string[]) => run(['login', '--url', url, ...args], { piped: `${operator.key}\n` });
    return { config, file, run, login };
  }

  it('login tries a key from the standard input, and keeps it for this user alone', async (t) => {
    const { file, run, login } = setUp(t);
    const { code, stdout, stderr } = await login();
    assert.deepEqual([code, stdout], [0, '']);
    assert.equal(stderr, `Logged in to ${url} as ops (discovery, control); profile default.\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(file, '..')).mode & 0o777, 0o700);
    const listed = await run(['list']);
    assert.equal(listed.code, 0, listed.stderr);
    assert.match(listed.stdout, /PROFILES_SQL/);
  });

  it('login reads the key from --key-file', async (t) => {
    const { config, file, run } = setUp(t);
    const keyFile = join(config, 'oncall.key');
    writeFileSync(keyFile, `${operator.key}\n`);
    const { code } = await run(['login', '--url', url, '--key-file', keyFile]);
    assert.equal(code, 0);
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).profiles.default.apiKey, operator.key);
  });

  it('login at a terminal asks, and shows nothing of what is typed', async (t) => {
    const { run } = setUp(t);
    const { code, stdout, stderr } = await run(['login', '--url', url], { typed: `${operator.key}\n` });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^API key or token: \nLogged in/);
    assert.equal((stdout + stderr).includes(operator.key), false);
  });

  it('what is wrong, unreachable or empty is not stored', async (t) => {
    const { run } = setUp(t);
    const login = (input: string, ...more: string[]) => run(['login', '--url', url, ...more], { piped: input });
    assert.equal((await login(`${'x'.repeat(40)}\n`)).code, 1);
    assert.equal((await login('')).code, 2);
    assert.equal((await login('two words\n')).code, 2);
    const mistyped = await login(`${operator.key.slice(0, -1)}${operator.key.endsWith('A') ? 'B' : 'A'}\n`);
    assert.deepEqual([mistyped.code, mistyped.stderr], [2, 'rdcp: the key is mistyped\n']);
    const key = `${operator.key}\n`;
    assert.match((await login(key, '--tenant', 'a b')).stderr, /^rdcp: --tenant must be 1 to 255 characters/);
    assert.match((await login(key, '--profile', 'a b')).stderr, /^rdcp: a profile must be named by 1 to 255/);
    assert.equal((await login('a.b.c\n', '--cert', 'c.pem')).code, 2);
    assert.equal((await run(['login', '--url', 'http://127.0.0.1:1'], { piped: `${operator.key}\n` })).code, 4);
    assert.equal((await run(['profiles', '--json'])).stdout.trim(), '{\n  "profiles": []\n}');
  });

  it('login takes the address from RDCP_URL, knows a token, keeps the tenant, and needs no session endpoint', async (t) => {
    const { run } = setUp(t);
    const { url: elsewhere, seen } = await answering(t, { userId: 'alice', scopes: ['admin', 'status'] });
    const login = (piped: string, ...args: string[]) =>
      run(['login', ...args], { piped, env: { RDCP_URL: elsewhere } });
    const { stderr } = await login('a.b.c\n', '--tenant', 'acme');
    assert.match(stderr, /^Logged in to \S+ as alice \(admin, status\); profile default\.\n/);
    assert.match((await run(['profiles'])).stdout, /^default +http:\S+ +acme +token$/m);
    assert.equal((await login('opaque\n', '--token')).code, 0);
    assert.deepEqual(
      seen.map(({ headers }) => headers.authorization),
      ['Bearer a.b.c', 'Bearer opaque'],
    );
    const older = await answering(t, { error: { code: 'RDCP_NOT_FOUND', message: 'no' } }, 404);
    const { code } = await run(['login', '--url', older.url, '--profile', 'older'], { piped: 'x'.repeat(40) });
    assert.equal(code, 0);
  });

  it('login says what it replaces, and what of the environment comes before it', async (t) => {
    const { run, login } = setUp(t);
    await login();
    const elsewhere = url.replace('127.0.0.1', 'localhost');
    const second = await run(['login', '--url', elsewhere], {
      piped: operator.key,
      env: { RDCP_URL: url, RDCP_API_KEY: 'x'.repeat(40) },
    });
    assert.equal(
      second.stderr,
      `Logged in to ${elsewhere} as ops (discovery, control); profile default, which was for ${url}.\n` +
        'RDCP_URL and RDCP_API_KEY of the environment come first: name the profile with --profile default.\n',
    );
  });

  it('an error names the profile or the variable that the address and the credential came from', async (t) => {
    const { run, login } = setUp(t);
    await login();
    const refused = await run(['list'], { env: { RDCP_API_KEY: 'x'.repeat(40) } });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /credential of RDCP_API_KEY, before that of profile default; /);
    const env = { RDCP_URL: 'http://127.0.0.1:1', RDCP_API_KEY: 'x'.repeat(40) };
    assert.equal((await run(['list', '--profile', 'default'], { env })).code, 0);
    const lacking = await run(['audit']);
    assert.match(lacking.stderr, /RDCP_FORBIDDEN: .*credential of profile default\)\n$/);
    const other = await run(['list'], { env: { RDCP_URL: url.replace('127.0.0.1', 'localhost') } });
    assert.match(other.stderr, /RDCP_AUTH_REQUIRED: .*\(address of RDCP_URL; log in with/);
    for (const [variable, value] of [
      ['RDCP_URL', 'http://127.0.0.1:1'],
      ['RDCP_PORT', '1'],
    ] as const) {
      const gone = await run(['list'], { env: { [variable]: value } });
      assert.equal(gone.code, 4);
      assert.match(gone.stderr, new RegExp(`cannot be reached \\(address of ${variable}; `));
    }
  });

  it('profiles lists them without credentials, logout removes one', async (t) => {
    const { run, login, file } = setUp(t);
    await login('--profile', 'shop');
    await login();
    const listed = await run(['profiles']);
    assert.match(listed.stdout, /^default +http:\S+ +- +API key\nshop +http:\S+ +- +API key$/m);
    assert.equal(listed.stdout.includes(operator.key), false);
    assert.equal((await run(['logout', '--profile', 'shop'])).stderr, 'Removed profile shop.\n');
    assert.equal((await run(['logout', '--profile', 'shop'])).code, 1);
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, 'utf8')).profiles), ['default']);
  });

  it('a profile is chosen by --profile, else RDCP_PROFILE; one that is not there is named with those that are', async (t) => {
    const { run, login } = setUp(t);
    await login('--profile', 'shop');
    assert.equal((await run(['list', '--profile', 'shop'])).code, 0);
    assert.equal((await run(['list'], { env: { RDCP_PROFILE: 'shop' } })).code, 0);
    const { code, stderr } = await run(['list', '--profile', 'shp']);
    assert.equal(code, 2);
    assert.match(stderr, /^rdcp: there is no profile 'shp' \(there are shop\)[^\n]*rdcp login[^\n]*\n$/);
  });

  it('the only profile is used where none is named, and of several an error names them', async (t) => {
    const { run, login } = setUp(t);
    await login('--profile', 'shop');
    const listed = await run(['list']);
    assert.equal(listed.code, 0, listed.stderr);
    await login('--profile', 'staging');
    const env = { RDCP_PORT: '' };
    const several = await run(['list'], { env });
    assert.notEqual(several.code, 0);
    assert.match(several.stderr, /no profile was named: choose one of shop, staging with --profile/);
    await run(['logout', '--profile', 'staging']);
    assert.equal((await run(['logout'])).stderr, 'Removed profile shop.\n');
  });

  it('a home that cannot be read has no profiles, and commands work with a key of the environment', async (t) => {
    const { run } = setUp(t);
    const env = { XDG_CONFIG_HOME: '', HOME: '/proc/1/root', RDCP_API_KEY: operator.key };
    assert.equal((await run(['list', '--url', url], { env })).code, 0);
  });

  it('the credential of a profile goes to its own address alone', async (t) => {
    const { run, login } = setUp(t);
    await login();
    const { url: elsewhere, seen } = await answering(t, { categories: [] });
    await run(['list', '--url', elsewhere]);
    await run(['list'], { env: { RDCP_URL: elsewhere } });
    await run(['list', '--profile', 'default', '--url', elsewhere]);
    assert.deepEqual(
      seen.map(({ headers }) => headers['x-rdcp-api-key']),
      [undefined, undefined, undefined],
    );
  });

  it('a file that others can read, or that is broken, is refused in one line', async (t) => {
    const { run, login, file } = setUp(t);
    await login();
    chmodSync(file, 0o640);
    const readable = await run(['list']);
    assert.deepEqual(
      [readable.code, readable.stderr],
      [2, `rdcp: ${file} can be read by other users: run chmod 600 ${file}\n`],
    );
    chmodSync(file, 0o600);
    const whole = { url, apiKey: operator.key };
    const profile = (fields: object) => JSON.stringify({ profiles: { default: { ...whole, ...fields } } });
    for (const [content, problem] of [
      ['', 'is not JSON: repair it, or remove it and log in again'],
      ['{', 'is not JSON: repair it, or remove it and log in again'],
      ['[]', 'has no profiles: remove it and log in again'],
      ['null', 'has no profiles: remove it and log in again'],
      ['{"profiles":null}', 'has no profiles: remove it and log in again'],
      ...['{"profiles":{"default":{}}}', profile({ url: 1 }), profile({ url: 'shop:9465' })].map(
        (wrong) => [wrong, "'url' of profile 'default' is malformed: run rdcp login --profile default"] as const,
      ),
      ...[
        { apiKey: 'two words' },
        { apiKey: '' },
        { token: 'a\nb' },
        { tenant: '*' },
        { certFile: '' },
        { other: 'x' },
      ].map(
        (wrong) =>
          [
            profile(wrong),
            `'${Object.keys(wrong)[0]}' of profile 'default' is malformed: run rdcp login --profile default`,
          ] as const,
      ),
      [`{"profiles":{"default":{"url":"${url}","__proto__":"x"}}}`, "'__proto__' of profile 'default' is malformed"],
    ] as const) {
      writeFileSync(file, content);
      const { code, stdout, stderr } = await run(['list']);
      assert.deepEqual([code, stdout], [2, ''], content);
      assert.match(stderr, /^rdcp: [^\n]+profiles\.json[^\n]+\n$/);
      assert.ok(stderr.includes(problem), `${content}: ${stderr}`);
    }
  });

  it('a file of another user, one that cannot be read, or none at all, says what to do', async (t) => {
    const { run, login, file } = setUp(t);
    await login();
    // Tests may run as root, who acts for others.
    const owner = statSync(file).uid;
    const getuid = t.mock.method(process as { getuid(): number }, 'getuid', () => owner + 1);
    const foreign = await run(['list']);
    assert.deepEqual(
      [foreign.code, foreign.stderr],
      [2, `rdcp: ${file} belongs to another user: run chown, or set XDG_CONFIG_HOME to a folder of your own\n`],
    );
    getuid.mock.mockImplementation(() => 0);
    assert.equal((await run(['list'])).code, 0, 'root uses the file of the user it acts for');
    rmSync(file);
    mkdirSync(file, { mode: 0o700 });
    const folder = await run(['list']);
    assert.deepEqual([folder.code, folder.stderr], [2, `rdcp: ${file} is not a file: move it away and log in again\n`]);
  });

  it('Ctrl-C at the hidden question ends the process, and an input that has ended answers nothing', async () => {
    const answers: string[] = [];
    let interrupted = 0;
    const terminalOf = (typed: readonly string[]) =>
      createTerminal({
        stdout: { write: () => undefined, isTTY: true },
        stderr: { write: () => undefined },
        stdin: Object.assign(Readable.from(typed), { isTTY: true }),
        env: {},
        cwd: '/',
        interrupt: () => {
          interrupted += 1;
        },
      });
    answers.push(await terminalOf(['sec\u0003']).askSecret('API key: '));
    assert.equal(interrupted, 1);
    const ended = terminalOf([]);
    answers.push(await ended.ask('Address: '), await ended.askSecret('API key: '));
    assert.deepEqual([answers, interrupted], [['', '', ''], 1]);
  });

  it('a client certificate gets in alone, with the authority of the profile', async (t) => {
    const { run } = setUp(t);
    const authority = createAuthority();
    const [server, robot] = [authority.issue('localhost', { usage: 'server' }), authority.issue('robot')];
    const tls = writePems({ certFile: server.cert, keyFile: server.key, clientCaFile: authority.cert });
    const client = writePems({ ca: authority.cert, cert: robot.cert, key: robot.key });
    const enterprise = createRdcp({
      server: { port: 0, tls },
      security: {
        level: 'enterprise',
        mtls: { identities: [{ subject: 'CN=robot', userId: 'robot', scopes: ['discovery', 'control'] }] },
      },
      announce: false,
    });
    enterprise.category('PROFILES_TLS');
    t.after(() => enterprise.close());
    const https = (await enterprise.listen()).url;
    const login = (...more: string[]) => run(['login', '--url', https, ...more], { piped: '\n' });
    const certificate = ['--cert', client.cert, '--cert-key', client.key];
    assert.equal((await login(...certificate)).code, 4);
    const { code, stderr } = await login('--ca', client.ca, ...certificate);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /as robot \(discovery, control\)/);
    assert.match((await run(['profiles'])).stdout, /^default .* certificate$/m);
    assert.equal((await run(['enable', 'profiles_tls'])).code, 0);
  });
});
