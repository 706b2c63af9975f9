import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { generateApiKey } from '../../src/access/api-key.ts';
import { ensureDevKey, findDevKey } from '../../src/access/dev-key.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { cellsOf, rdcp, rdcpProcess } from './run.ts';
import { service } from './service.ts';

const key = generateApiKey({ env: 'test', randomBytes });
const env = { RDCP_API_KEY: key };
const STATUS = { categories: {}, enabled: true, performance: { totalCalls: 0, callsPerSecond: 0 } };
const SILENT = { callsTotal: 0, callsPerSecond: 0 };
const OFF = { enabled: false, temporary: false, metrics: SILENT, description: 'd' };

test('list shows categories that are on first, and folds those of Node.js and libraries that are off', async (t) => {
  const adopted = (name: string, from: object, more = {}) => ({
    ...{ name, ...OFF, ...more },
    otelrdcp_source: { kind: 'debug', name, count: 1, ...from },
  });
  const categories = [
    adopted('BODY_PARSER', { package: 'body-parser' }),
    adopted('HTTP_CLIENT', { kind: 'channel' }),
    adopted('NET', { kind: 'channel' }, { enabled: true, temporary: true }),
    adopted('OTEL_DIAG', { kind: 'otel', name: 'otel:diag' }),
    adopted('ROUTER', { package: 'router' }, { otelrdcp_origin: 'permanent' }),
    { name: 'SHOP', ...OFF },
    adopted('SHOP_DB', {}),
  ];
  const { url } = await service(t, { categories });
  const names = (stdout: string) =>
    cellsOf(stdout)
      .map(([name]) => name)
      .slice(1);
  const folded = await rdcp(['list', '--url', url], { env });
  assert.deepEqual(names(folded.stdout), ['NET', 'SHOP', 'SHOP_DB', 'ROUTER']);
  assert.equal(folded.stderr, '3 more of Node.js and libraries: rdcp list --all\n');
  const all = await rdcp(['list', '--all', '--url', url], { env });
  const every = ['NET', 'SHOP', 'SHOP_DB', 'BODY_PARSER', 'HTTP_CLIENT', 'OTEL_DIAG', 'ROUTER'];
  assert.deepEqual(names(all.stdout), every);
  assert.equal(all.stderr, '');
  const json = await rdcp(['list', '--json', '--url', url], { env });
  assert.equal(JSON.parse(json.stdout).categories.length, categories.length);
});

test('audit goes on where a page has fewer entries than it may, until there are as many as asked for', async (t) => {
  const timestamp = '2026-01-01T00:00:00.000Z';
  const entry = { timestamp, action: 'enable', categories: [], outcome: 'denied', identity: {} };
  const { url, seen } = await service(t, { entries: [entry], otelrdcp_next: 'c2' });
  const { stdout } = await rdcp(['audit', '--limit', '3', '--json', '--url', url], { env });
  const answer = JSON.parse(stdout);
  assert.deepEqual([answer.entries.length, answer.otelrdcp_next], [3, 'c2']);
  assert.deepEqual(
    seen.map(({ target }) => target.split('?')[1]),
    ['limit=3', 'limit=2&cursor=c2', 'limit=1&cursor=c2'],
  );
});

test('audit reads a duration as that long ago', async (t) => {
  const { url, seen } = await service(t, { entries: [] });
  const before = Date.now();
  await rdcp(['audit', '--since', '2h', '--url', url], { env });
  const since = new URL(seen[0]?.target.split(' ')[1] ?? '', url).searchParams.get('since') ?? '';
  const age = before - Date.parse(since);
  assert.ok(Math.abs(age - 7_200_000) < 60_000, `asked for ${since}`);
});

test('the credential comes from --key-file or --token-file before RDCP_API_KEY before .rdcp/dev-key', async (t) => {
  const cwd = newFolder(t);
  const { url, seen } = await service(t, STATUS);
  const other = generateApiKey({ env: 'file', randomBytes });
  writeFileSync(join(cwd, 'key'), `${other}\n`);
  await rdcp(['status', '--url', url], { cwd });
  ensureDevKey(cwd);
  await rdcp(['status', '--url', url], { cwd });
  await rdcp(['status', '--url', url], { cwd, env });
  await rdcp(['status', '--url', url, '--key-file', join(cwd, 'key')], { cwd, env });
  writeFileSync(join(cwd, 'token'), 'a.b.c\n');
  await rdcpProcess(['status', '--url', url, '--token-file', 'token'], { cwd, env });
  assert.deepEqual(
    seen.map(({ headers }) => headers.authorization ?? headers['x-rdcp-api-key']),
    [undefined, findDevKey(cwd)?.key, key, other, 'Bearer a.b.c'],
  );
  assert.equal(seen.at(-1)?.headers['x-rdcp-api-key'], undefined);
});

test('a mistyped key is reported before it is sent, and never shown', async (t) => {
  const { url, seen } = await service(t, {});
  const mistyped = `${key.slice(0, 20)}${key.charAt(20) === 'x' ? 'y' : 'x'}${key.slice(21)}`;
  const { code, stderr } = await rdcp(['status', '--url', url], { env: { RDCP_API_KEY: mistyped } });
  assert.equal(code, 2);
  assert.equal(stderr, 'rdcp: the key in RDCP_API_KEY is mistyped\n');
  assert.equal(seen.length, 0);
});

test('a closed stderr does not end a command', async () => {
  const child = spawn(process.execPath, [built('cli/main.js'), 'status', '--url', 'http://127.0.0.1:1'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr.destroy();
  assert.deepEqual(await once(child, 'exit'), [4, null]);
});

test('a full output device is reported, and the exit code is 1', { skip: !existsSync('/dev/full') }, async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [built('cli/main.js'), '--version'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  assert.ok(child.stderr !== null);
  const [noted] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.deepEqual([child.exitCode, noted], [1, 'rdcp: the output cannot be written (ENOSPC)\n']);
});

test('what a hostile service says cannot move the cursor, colour it or add lines, also in JSON', async (t) => {
  const hostile = 'healthy\n\u009b31mall is well\u202e\u2028';
  const check = { name: hostile, status: 'warn', duration: hostile };
  const { url } = await service(t, { status: hostile, checks: [check], entries: [{ reason: hostile }] });
  for (const args of [['health'], ['health', '--json'], ['audit', '--json', '--limit', '1'], ['status', '--json']]) {
    const { stdout, stderr } = await rdcp([...args, '--url', url], { env });
    assert.doesNotMatch(stdout + stderr, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, args.join(' '));
    if (args.includes('--json')) assert.equal(JSON.parse(stdout).status, hostile, args.join(' '));
    else assert.equal(stdout.split('\n')[0], 'healthy\\u000a\\u009b31mall is well\\u202e\\u2028');
  }
});

test('audit ends where a service answers nothing but empty pages', async (t) => {
  const { url } = await service(t, { entries: [], otelrdcp_next: 'c' });
  for (const args of [['audit'], ['audit', 'verify']]) {
    const { code, stderr } = await rdcp([...args, '--url', url], { env });
    assert.equal(code, 1);
    assert.match(stderr, /^rdcp: the server answered \d+ (empty )?pages [a-z ]+\n$/);
  }
});

test('a key where a name or a command should be is neither shown nor sent', async (t) => {
  const { url, seen } = await service(t, {});
  for (const args of [[key], ['enable', key, '--url', url], ['health', key, '--url', url]]) {
    const { code, stdout, stderr } = await rdcp(args, { env });
    assert.equal(code, 2);
    assert.match(stderr, /API key.*--key-file/);
    assert.ok(!(stdout + stderr).includes(key));
  }
  assert.deepEqual(seen, []);
});
