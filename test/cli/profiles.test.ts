import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { createRdcp } from '../../src/index.ts';
import { createTerminal } from '../../src/tools/cli/terminal.ts';
import { makeKey } from '../auth/records.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { type RunOptions, rdcp, saying } from './run.ts';
import { service as answering, realService } from './service.ts';

describe('profiles of the command line', () => {
  const operator = makeKey({ id: 'operator', scopes: ['discovery', 'control'] });
  const { service, place } = realService({}, [operator]);
  service.category('PROFILES_SQL');

  function setUp(t: TestContext) {
    const config = newFolder(t);
    const file = join(config, 'rdcp', 'profiles.json');
    const run = (args: readonly string[], options: RunOptions = {}) =>
      rdcp(args, { cwd: config, ...options, env: { XDG_CONFIG_HOME: config, ...options.env } });
    const { url } = place;
    const login = (...args: string[]) => run(['login', '--url', url, ...args], { piped: `${operator.key}\n` });
    return { config, file, run, login, url, says: saying(run) };
  }

  it('login tries a key from the standard input, and keeps it for this user alone', async (t) => {
    const { file, says, url } = setUp(t);
    const err = `Logged in to ${url} as ops (discovery, control); profile default.\n`;
    await says(`login --url ${url}`, '', { piped: `${operator.key}\n`, err });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(file, '..')).mode & 0o777, 0o700);
    await says('list', /PROFILES_SQL/);
  });

  it('login reads the key from --key-file', async (t) => {
    const { config, file, says, url } = setUp(t);
    const keyFile = join(config, 'oncall.key');
    writeFileSync(keyFile, `${operator.key}\n`);
    await says(`login --url ${url} --key-file ${keyFile}`);
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).profiles.default.apiKey, operator.key);
  });

  it('login at a terminal asks, and shows nothing of what is typed', async (t) => {
    const { says, url } = setUp(t);
    const err = /^API key or token: \nLogged in/;
    const { stdout, stderr } = await says(`login --url ${url}`, undefined, { typed: `${operator.key}\n`, err });
    assert.equal((stdout + stderr).includes(operator.key), false);
  });

  it('what is wrong, unreachable or empty is not stored', async (t) => {
    const { says, url } = setUp(t);
    const mistyped = `${operator.key.slice(0, -1)}${operator.key.endsWith('A') ? 'B' : 'A'}`;
    for (const [piped, code, line, err] of [
      ['x'.repeat(40), 1],
      ['', 2],
      ['two words', 2],
      [mistyped, 2, '', 'rdcp: the key is mistyped\n'],
      ['a.b.c', 2, '--cert c.pem'],
      [operator.key, 2, "--tenant 'a b'", /^rdcp: --tenant must be 1 to 255 characters/],
      [operator.key, 2, "--profile 'a b'", /^rdcp: a profile must be named by 1 to 255 characters/],
    ] as const) {
      await says(`login --url ${url} ${line ?? ''}`, '', { piped: `${piped}\n`, code, ...(err && { err }) });
    }
    await says('login --url http://127.0.0.1:1', '', { piped: operator.key, code: 4 });
    await says('profiles --json', '{\n  "profiles": []\n}\n');
  });

  it('login takes the address from RDCP_URL, knows a token, keeps the tenant, and needs no session endpoint', async (t) => {
    const { says } = setUp(t);
    const { url, seen } = await answering(t, { userId: 'alice', scopes: ['admin', 'status'] });
    const env = { RDCP_URL: url };
    const err = /^Logged in to \S+ as alice \(admin, status\); profile default\.\n/;
    await says('login --tenant acme', '', { piped: 'a.b.c\n', env, err });
    await says('profiles', /^default +http:\S+ +acme +token$/m);
    await says('login --token', '', { piped: 'opaque\n', env });
    assert.deepEqual(
      seen.map(({ headers }) => headers.authorization),
      ['Bearer a.b.c', 'Bearer opaque'],
    );
    const older = await answering(t, { error: { code: 'RDCP_NOT_FOUND', message: 'no' } }, 404);
    await says(`login --url ${older.url} --profile older`, '', { piped: 'x'.repeat(40) });
  });

  it('login says what it replaces, and what of the environment comes before it', async (t) => {
    const { says, login, url } = setUp(t);
    await login();
    const elsewhere = url.replace('127.0.0.1', 'localhost');
    const env = { RDCP_URL: url, RDCP_API_KEY: 'x'.repeat(40) };
    const err =
      `Logged in to ${elsewhere} as ops (discovery, control); profile default, which was for ${url}.\n` +
      'RDCP_URL and RDCP_API_KEY of the environment come first: name the profile with --profile default.\n';
    await says(`login --url ${elsewhere}`, '', { piped: operator.key, env, err });
  });

  it('an error names the profile or the variable that the address and the credential came from', async (t) => {
    const { says, login, url } = setUp(t);
    await login();
    const [unknown, nowhere] = [{ RDCP_API_KEY: 'x'.repeat(40) }, { RDCP_URL: 'http://127.0.0.1:1' }];
    const other = { RDCP_URL: url.replace('127.0.0.1', 'localhost') };
    await says('list --profile default', undefined, { env: { ...nowhere, ...unknown } });
    for (const [line, env, code, err] of [
      ['list', unknown, 1, /credential of RDCP_API_KEY, before that of profile default; /],
      ['audit', {}, 1, /RDCP_FORBIDDEN: .*credential of profile default\)\n$/],
      ['list', other, 1, /RDCP_AUTH_REQUIRED: .*\(address of RDCP_URL; log in with/],
      ['list', nowhere, 4, /cannot be reached \(address of RDCP_URL; /],
      ['list', { RDCP_PORT: '1' }, 4, /cannot be reached \(address of RDCP_PORT; /],
    ] as const) {
      await says(line, '', { env, code, err });
    }
  });

  it('profiles lists them without credentials, logout removes one', async (t) => {
    const { says, login, file } = setUp(t);
    await login('--profile', 'shop');
    await login();
    const { stdout } = await says('profiles', /^default +http:\S+ +- +API key\nshop +http:\S+ +- +API key$/m);
    assert.equal(stdout.includes(operator.key), false);
    await says('logout --profile shop', '', { err: 'Removed profile shop.\n' });
    await says('logout --profile shop', '', { code: 1 });
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, 'utf8')).profiles), ['default']);
  });

  it('a profile is chosen by --profile, else RDCP_PROFILE; one that is not there is named with those that are', async (t) => {
    const { says, login } = setUp(t);
    await login('--profile', 'shop');
    await says('list --profile shop');
    await says('list', undefined, { env: { RDCP_PROFILE: 'shop' } });
    const err = /^rdcp: there is no profile 'shp' \(there are shop\)[^\n]*rdcp login[^\n]*\n$/;
    await says('list --profile shp', '', { code: 2, err });
  });

  it('the only profile is used where none is named, and of several an error names them', async (t) => {
    const { run, says, login } = setUp(t);
    await login('--profile', 'shop');
    await says('list');
    await login('--profile', 'staging');
    const several = await run(['list'], { env: { RDCP_PORT: '' } });
    assert.notEqual(several.code, 0);
    assert.match(several.stderr, /no profile was named: choose one of shop, staging with --profile/);
    await says('logout --profile staging');
    await says('logout', '', { err: 'Removed profile shop.\n' });
  });

  it('a home that cannot be read has no profiles, and commands work with a key of the environment', async (t) => {
    const { says, url } = setUp(t);
    const env = { XDG_CONFIG_HOME: '', HOME: '/proc/1/root', RDCP_API_KEY: operator.key };
    await says(`list --url ${url}`, undefined, { env });
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
    const { says, login, file, url } = setUp(t);
    await login();
    chmodSync(file, 0o640);
    const readable = `rdcp: ${file} can be read by other users: run chmod 600 ${file}\n`;
    await says('list', '', { code: 2, err: readable });
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
      const { stderr } = await says('list', '', { code: 2, err: /^rdcp: [^\n]+profiles\.json[^\n]+\n$/ });
      assert.ok(stderr.includes(problem), `${content}: ${stderr}`);
    }
  });

  it('a file of another user, one that cannot be read, or none at all, says what to do', async (t) => {
    const { says, login, file } = setUp(t);
    await login();
    // Tests may run as root, who acts for others.
    const owner = statSync(file).uid;
    const getuid = t.mock.method(process as { getuid(): number }, 'getuid', () => owner + 1);
    const foreign = `rdcp: ${file} belongs to another user: run chown, or set XDG_CONFIG_HOME to a folder of your own\n`;
    await says('list', '', { code: 2, err: foreign });
    // Root uses the file of the user it acts for.
    getuid.mock.mockImplementation(() => 0);
    await says('list');
    rmSync(file);
    mkdirSync(file, { mode: 0o700 });
    await says('list', '', { code: 2, err: `rdcp: ${file} is not a file: move it away and log in again\n` });
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
