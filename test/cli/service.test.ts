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

test('list shows categories, their state and their rates; what a service says cannot move the cursor', async (t) => {
  const metrics = { callsTotal: 7, callsPerSecond: 0.25 };
  const until = new Date(Date.now() + 3_700_000).toISOString();
  const categories = [
    { name: 'HTTP', description: 'requests\u001b[2J', enabled: false, temporary: false, metrics },
    { name: 'SQL', description: 'queries', enabled: true, temporary: true, otelrdcp_expiresAt: until, metrics },
    { name: 'TLS', description: 'handshakes', enabled: true, temporary: true, metrics },
  ];
  const { url, seen } = await service(t, { categories });
  const { code, stdout } = await rdcp(['list', '--url', url], { env });
  assert.equal(code, 0);
  assert.deepEqual(cellsOf(stdout), [
    ['CATEGORY', 'STATE', 'FOR', 'CALLS', 'CALLS/S', 'DESCRIPTION'],
    ['SQL', 'on', '1h 1m', '7', '0.3', 'queries'],
    ['TLS', 'on', 'a while', '7', '0.3', 'handshakes'],
    ['HTTP', 'off', '-', '7', '-', 'requests\\u001b[2J'],
  ]);
  assert.equal(seen[0]?.headers['x-rdcp-api-key'], key);
});

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

test('list shows everything of a service without categories of its own', async (t) => {
  const net = { name: 'NET', ...OFF, otelrdcp_source: { kind: 'channel', name: 'NET', count: 1 } };
  const { url } = await service(t, { categories: [net] });
  const { stdout, stderr } = await rdcp(['list', '--url', url], { env });
  assert.match(stdout, /^NET /m);
  assert.equal(stderr, '');
});

test('list -o wide names the library that a category was adopted from', async (t) => {
  const source = { kind: 'pino', name: 'db', version: '10.4.0', count: 3 };
  const categories = [
    { name: 'DB', ...OFF, otelrdcp_source: source, otelrdcp_default: false, otelrdcp_origin: 'default' },
    { name: 'HTTP', ...OFF },
  ];
  const { url } = await service(t, { categories });
  const { stdout } = await rdcp(['list', '-o', 'wide', '--url', url], { env });
  assert.match(stdout, /^CATEGORY .* DECIDED BY +DEFAULT +SOURCE +DESCRIPTION$/m);
  assert.match(stdout, /^DB .* default +off +pino db 10\.4\.0 \(3\) +d$/m);
  assert.match(stdout, /^HTTP .* - +- +- +d$/m);
});

test('enable asks for what its options say and shows what changed; 3 where it is not applied everywhere', async (t) => {
  const noon = new Date();
  noon.setHours(12, 0, 0, 0);
  const change = {
    category: 'SQL',
    previousState: false,
    newState: true,
    temporary: true,
    effectiveAt: new Date(noon.getTime() - 300_000).toISOString(),
    expiresAt: noon.toISOString(),
  };
  const { url, seen } = await service(t, { status: 'partial', message: 'here alone', changes: [change] });
  const finished = await rdcp(
    ['enable', 'SQL', 'HTTP', '--for', '5m', '--reason', 'slow pages', '--tenant', 'acme', '--url', url],
    { env },
  );
  assert.equal(finished.code, 3);
  assert.match(finished.stdout, /^SQL on for 5m, until 12:00:00(?:Z|[+-][\d:]+)\n$/);
  assert.equal(finished.stderr, 'rdcp: partially applied: here alone\n');
  assert.equal(seen[0]?.target, 'POST /rdcp/v1/control');
  assert.equal(seen[0]?.headers['x-rdcp-tenant-id'], 'acme');
  assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), {
    action: 'enable',
    categories: ['SQL', 'HTTP'],
    options: { temporary: true, duration: '5m', reason: 'slow pages' },
  });
});

test('what is switched for one tenant says so, and says so too where it is for everybody', async (t) => {
  const about = (id: string, scope: string) => ({ id, scope, isolationLevel: 'organization' });
  for (const [tenant, line] of [
    [about('acme', 'tenant-isolated'), 'for tenant acme alone\n'],
    [about('ac\u009bme', 'tenant-isolated'), 'for tenant ac\\u009bme alone\n'],
    [about('acme', 'global'), 'for everybody, not for tenant acme alone: this service has one state for all tenants\n'],
    [about('global', 'global'), ''],
    [undefined, ''],
  ] as const) {
    const change = { category: 'SQL', previousState: false, newState: true, effectiveAt: '2026-01-01T00:00:00.000Z' };
    const { url } = await service(t, { status: 'success', message: 'ok', changes: [change], tenant });
    const { code, stdout } = await rdcp(['enable', 'SQL', '--tenant', 'acme', '--url', url], { env });
    assert.equal(code, 0);
    assert.equal(stdout, `SQL on without an end\n${line}`);
  }
});

test('disable, toggle and reset ask for their action', async (t) => {
  const { url, seen } = await service(t, { status: 'success', message: 'ok', changes: [] });
  for (const action of ['disable', 'toggle', 'reset']) await rdcp([action, 'SQL', '--url', url], { env });
  await rdcp(['reset', '--all', '--yes', '--reason', 'incident over', '--url', url], { env });
  assert.deepEqual(
    seen.map(({ body }) => JSON.parse(body)),
    [
      { action: 'disable', categories: ['SQL'] },
      { action: 'toggle', categories: ['SQL'], options: { temporary: true, duration: '15m' } },
      { action: 'reset', categories: ['SQL'] },
      { action: 'reset', options: { reason: 'incident over' } },
    ],
  );
});

test('status, health and audit are tables for people and JSON for machines', async (t) => {
  const performance = { totalCalls: 12, callsPerSecond: 0.5 };
  const statusOf = await service(t, { enabled: true, categories: { HTTP: false, SQL: true }, performance });
  const status = await rdcp(['status', '--url', statusOf.url], { env });
  assert.equal(
    status.stdout,
    'CATEGORY  STATE\nHTTP      off\nSQL       on\n\n12 debug calls counted so far, 0.5 per second now\n',
  );
  const asJson = await rdcp(['status', '--json', '--url', statusOf.url], { env });
  assert.deepEqual(JSON.parse(asJson.stdout).categories, { HTTP: false, SQL: true });

  const checks = [{ name: 'store', status: 'fail', duration: '3ms' }];
  const unhealthy = await service(t, { status: 'unhealthy', checks }, 503);
  const health = await rdcp(['health', '--url', unhealthy.url], { env });
  assert.equal(health.code, 1);
  assert.equal(health.stdout, 'unhealthy\n\nCHECK  STATUS  TOOK\nstore  fail    3ms\n');

  const entry = {
    timestamp: '2026-01-01T00:00:00.000Z',
    action: 'enable',
    categories: ['SQL'],
    outcome: 'denied',
    error: 'RDCP_FORBIDDEN',
    identity: { userId: 'ann' },
    tenant: { id: 'acme' },
    reason: 'slow\u009bpages',
  };
  const trail = await service(t, { entries: [entry], otelrdcp_next: 'c2' });
  const audit = await rdcp(['audit', '--limit', '1', '--outcome', 'denied', '--url', trail.url], { env });
  assert.deepEqual(cellsOf(audit.stdout), [
    ['TIME', 'WHO', 'ACTION', 'CATEGORIES', 'OUTCOME', 'REASON'],
    ['2026-01-01T00:00:00.000Z', 'ann (acme)', 'enable', 'SQL', 'denied RDCP_FORBIDDEN', 'slow\\u009bpages'],
  ]);
  assert.match(audit.stderr, /--cursor c2/);
  assert.equal(trail.seen[0]?.target, 'GET /rdcp/v1/audit?limit=1&outcome=denied');
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

test('fleet lists the processes, how far each is and when it was heard of last', async (t) => {
  const member = { host: 'east-1', pid: 7, service: 'shop', startedAt: '2026-01-01T00:00:00.000Z' };
  const seen = (seconds: number) => new Date(Date.parse('2026-01-01T00:00:00.000Z') - seconds * 1000).toISOString();
  const { url, seen: asked } = await service(t, {
    revision: 12,
    instances: [
      { ...member, id: 'one', version: '1.4', applied: 12, pending: false, lastSeenAt: seen(0.2) },
      { ...member, id: 'two', pid: 8, applied: 9, pending: true, lastSeenAt: seen(2.5) },
      { ...member, id: 'three', pid: 9, pending: true, lastSeenAt: seen(0) },
    ],
  });
  const { code, stdout } = await rdcp(['fleet', '--url', url], { env });
  assert.equal(code, 0);
  assert.deepEqual(cellsOf(stdout), [
    ['PROCESS', 'SERVICE', 'VERSION', 'APPLIED', 'BEHIND', 'LAST SEEN'],
    ['east-1:7', 'shop', '1.4', '12', '0', '0.2 s ago'],
    ['east-1:8', 'shop', '-', '9', '3', '2.5 s ago'],
    ['east-1:9', 'shop', '-', '-', '?', '0.0 s ago'],
    [''],
    ['revision 12, applied by 1 of 3 processes'],
  ]);
  assert.equal(asked[0]?.target, 'GET /rdcp/v1/fleet');
});

test('a process that has not applied a change is named by its host and process id, and by since when it is not heard of', async (t) => {
  const change = { category: 'SQL', previousState: false, newState: true, temporary: false };
  const fleet = { revision: 3, instances: 3, applied: 1, pending: ['one', 'two'] };
  const instances = [{ id: 'one', host: 'east-1', pid: 7 }];
  const lost = [{ id: 'two', host: 'east\u001b[2J', pid: 8, lastSeenAt: '2026-01-31T14:05:12.000Z' }];
  const answer = { status: 'success', message: '', changes: [change], otelrdcp_fleet: fleet, instances, lost };
  const { url } = await service(t, answer);
  const { stdout } = await rdcp(['disable', 'SQL', '--url', url], { env });
  assert.match(
    stdout,
    /\napplied by 1 of 3 processes; still pending: east-1:7, east\\u001b\[2J:8 \(not heard of since [\d: -]+(?:Z|[+-][\d:]+)\)\n/,
  );
  const json = JSON.parse((await rdcp(['disable', 'SQL', '--url', url, '-o', 'json'], { env })).stdout);
  assert.deepEqual(json.otelrdcp_fleet.pending, ['one', 'two'], 'programs get ids');
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
