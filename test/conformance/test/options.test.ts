import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inFull } from '../../support/tiers.ts';
import { parseOptions, UsageError } from '../src/options.ts';
import { put } from './fault-kinds.ts';
import { type Handler, serve } from './handler.ts';
import { KEYS } from './reference-credentials.ts';
import { referenceServer } from './reference-server.ts';

const MAIN = join(import.meta.dirname, '../src/main.ts');

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[]): Promise<Run> {
  const { promise, resolve } = Promise.withResolvers<Run>();
  execFile(process.execPath, [MAIN, ...args], (error, stdout, stderr) =>
    resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
  );
  return promise;
}

async function runAgainst(handler: Handler, args: readonly string[]): Promise<Run> {
  const served = await serve(handler);
  const result = await run(['--url', served.url, '--key', KEYS.main, ...args]);
  served.close();
  return result;
}

test('--help lists every flag, and --checks every check', async () => {
  const help = await run(['--help']);
  assert.equal(help.code, 0);
  for (const flag of ['--url', '--key', '--token', '--tenant-token', '--readonly-key', '--ca', '--cert', '--key-pem']) {
    assert.match(help.stdout, new RegExp(flag));
  }
  const list = await run(['--checks']);
  assert.match(list.stdout, /^L1-WELL-01\s+MUST\s+GET \/\.well-known\/rdcp: /m);
  const { checks } = JSON.parse((await run(['--checks', '-o', 'json'])).stdout);
  assert.ok(checks.length > 50 && checks.every(({ id }: { id: string }) => id !== ''));
});

test('a run that finds nothing ends with 0, and prints the table and a summary', async () => {
  const { code, stdout } = await runAgainst(referenceServer(), ['--only', 'L1-WELL,L1-TRAN-05']);
  assert.equal(code, 0);
  assert.match(stdout, /L1-WELL-01 {2}MUST {3}PASS The document is there/);
  assert.match(stdout, /L1-TRAN-05 {2}SHOULD SKIP .*\n\s+skipped: {2}the server is spoken to without TLS/);
  assert.match(stdout, /level 1\s+18 passed, 0 failed \(0 MUST\), 1 skipped/);
});

test('a MUST that fails ends the run with 1, and the table shows what was expected and what came', async () => {
  const faulty = put('status', 'protocol', 'rdcp/2.0')(referenceServer());
  const { code, stdout } = await runAgainst(faulty, ['--only', 'L1-STAT-02']);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /L1-STAT-02 {2}MUST {3}FAIL .*\n\s+expected: protocol to be "rdcp\/1\.0"\n\s+got: {6}"rdcp\/2\.0"/,
  );
});

test('a SHOULD that fails leaves the exit code 0', async () => {
  const faulty = put('health', 'status', 'unwell')(referenceServer());
  const { code, stdout } = await runAgainst(faulty, ['--only', 'L1-HEAL']);
  assert.equal(code, 0);
  assert.match(stdout, /L1-HEAL-06 {2}SHOULD FAIL/);
});

test('a level that the server does not reach is judged when it is asked for', async () => {
  const { code, stdout } = await runAgainst(referenceServer(), ['--level', '2', '--only', 'L2-CAPA-01', '-o', 'json']);
  assert.equal(code, 1);
  const report: unknown = JSON.parse(stdout);
  assert.partialDeepStrictEqual(report, {
    claimed: 'basic',
    level: 2,
    conformant: false,
    results: [{ id: 'L2-CAPA-01', level: 2, strength: 'MUST', outcome: 'FAIL', got: 'false' }],
    summary: [{ level: 2, passed: 0, failed: 1, broken: 1, skipped: 0 }],
  });
});

inFull('no server, or a run in which nothing was checked, is no success', async () => {
  const gone = await serve(referenceServer());
  gone.close();
  const { code, stderr } = await run(['--url', gone.url]);
  assert.equal(code, 2);
  assert.match(stderr, /ECONNREFUSED/);
  assert.equal((await runAgainst(referenceServer(), ['--only', 'L1-TRAN-05'])).code, 1);
});

inFull('a server that limits rates is waited for', async () => {
  const limited = referenceServer({ controlLimit: 4, windowMs: 600 });
  const { code, stderr } = await runAgainst(limited, ['--changes', '--only', 'L1-TRNS']);
  assert.equal(code, 0);
  assert.match(stderr, /waiting 1 s: the server limits the rate of control \(key\) requests/);
});

test('a run only reads, unless --changes is given: no request but GET, HEAD and OPTIONS leaves it', async () => {
  const methods = new Set<string>();
  const handler = referenceServer();
  const { code, stdout, stderr } = await runAgainst(
    (request) => {
      methods.add(request.method);
      return handler(request);
    },
    ['-o', 'json'],
  );
  assert.equal(code, 0, stderr);
  assert.deepEqual(
    [...methods].filter((method) => !['GET', 'HEAD', 'OPTIONS'].includes(method)),
    [],
  );
  const { results, leftOver } = JSON.parse(stdout);
  const outcomes = (outcome: string) => results.filter((each: { outcome: string }) => each.outcome === outcome).length;
  assert.ok(outcomes('PASS') > 50, `${outcomes('PASS')} passed`);
  assert.ok(outcomes('SKIP') > 20);
  assert.deepEqual([outcomes('FAIL'), leftOver], [0, []]);
  assert.match(stderr, /--changes checks the rest\.\n$/);
});

test('the server and its key may come from the environment, which a flag overrules', () => {
  const env = { RDCP_URL: 'http://127.0.0.1:1', RDCP_API_KEY: 'from-env' };
  assert.partialDeepStrictEqual(parseOptions([], env), {
    target: { url: new URL('http://127.0.0.1:1') },
    credentials: { main: { secret: 'from-env' } },
  });
  assert.partialDeepStrictEqual(parseOptions(['--url', 'http://127.0.0.1:2', '--token', 'a.b.c'], env), {
    target: { url: new URL('http://127.0.0.1:2') },
    credentials: { main: { method: 'bearer', secret: 'a.b.c' } },
  });
});

test('a credential comes from a file, without the line end', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'rdcp-conformance-')), 'key');
  writeFileSync(file, 'secret\n');
  const options = parseOptions(['--url', 'http://127.0.0.1', '--key-file', file, '--tenant-token-file', file]);
  assert.partialDeepStrictEqual(options, {
    credentials: { main: { method: 'api-key', secret: 'secret' }, tenants: [{ method: 'bearer', secret: 'secret' }] },
  });
});

test('beside a client certificate a token makes a hybrid credential, and the certificate alone is one', () => {
  const pem = join(mkdtempSync(join(tmpdir(), 'rdcp-conformance-')), 'pem');
  writeFileSync(pem, 'PEM');
  const tls = ['--url', 'https://localhost', '--cert', pem, '--key-pem', pem];
  assert.partialDeepStrictEqual(parseOptions([...tls, '--token', 'a.b.c']), {
    credentials: { main: { method: 'hybrid', secret: 'a.b.c' } },
    target: { cert: 'PEM', key: 'PEM' },
  });
  assert.partialDeepStrictEqual(parseOptions(tls), { credentials: { main: { method: 'mtls' } } });
});

const mistakes: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no URL', [], /--url is required/],
  ['a URL of another kind', ['--url', 'ftp://host'], /--url must be/],
  ['an unknown flag', ['--url', 'http://127.0.0.1', '--keey', 'x'], /--keey/],
  ['a level that is none', ['--url', 'http://127.0.0.1', '--level', '4'], /--level must be 1, 2 or 3/],
  ['an output that is none', ['--url', 'http://127.0.0.1', '-o', 'x'], /--output must be text or json/],
  ['--exhaust of a run that only reads', ['--url', 'http://127.0.0.1', '--exhaust'], /--exhaust needs --changes/],
  [
    'two credentials for one purpose',
    ['--url', 'http://127.0.0.1', '--readonly-key', 'a', '--readonly-token', 'b'],
    /--readonly-key and --readonly-token cannot be combined/,
  ],
  [
    'a certificate without its key',
    ['--url', 'https://127.0.0.1', '--cert', 'x'],
    /--cert and --key-pem come together/,
  ],
  ['a file that is not there', ['--url', 'http://127.0.0.1', '--key-file', '/no/such/file'], /cannot be read/],
];
for (const [name, args, message] of mistakes) {
  test(`${name} is a mistake that is named`, () => {
    assert.throws(
      () => parseOptions(args),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  });
}
