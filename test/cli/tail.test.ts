// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { runWithAttributes, runWithTenant } from '../../src/api.ts';
import { makeKey } from '../auth/records.ts';
import { ending, jsonLines, type RunOptions, rdcp as run } from './run.ts';
import { event, service as fakeService, madeUp, realService } from './service.ts';

const HOSTILE = 'done\n\u001b[2J\u202e';

describe('tail and forecast from the command line', () => {
  const admin = makeKey({ id: 'admin', userId: 'alice', scopes: ['admin'] });
  const emitted: string[] = [];
  const { service, rdcp, says } = realService(
    {
      tenancy: { isolation: 'organization', tenants: { acme: {}, other: {} } },
      emit: { to: (record) => void (record.severity === 'DEBUG' && emitted.push(record.message)) },
    },
    [admin],
  );
  const queries = service.category('TAIL_QUERIES');
  const pool = service.category('TAIL_POOL');
  let calls: NodeJS.Timeout;
  before(() => {
    calls = setInterval(() => {
      runWithTenant('acme', () => queries.debug(HOSTILE, { rows: 1, of: 'acme' }));
      runWithTenant('other', () => queries.debug('theirs', { of: 'other' }));
      pool.debug('taken');
      for (const user of ['42', '43']) {
        runWithAttributes({ 'user.id': user }, () => pool.debug(`taken by ${user}`, { size: Number(user) }));
      }
    }, 20);
  });
  after(() => clearInterval(calls));
  const audited = async () => JSON.parse((await rdcp(['audit', '--action', 'tail', '-o', 'json'])).stdout).entries;

  it('tail shows the lines of one user, and those that an expression is true for', async () => {
    for (const args of [
      ['-m', 'user.id=42'],
      ['--match', 'user.id=4*', '--where', 'size == 42'],
      ['--text', '*by 42', '--sample', '1/1'],
    ]) {
      const { code, stdout } = await rdcp(['tail', 'tail_pool', '--lines', '3', '-o', 'json', ...args]);
      const messages = jsonLines(stdout).map(({ message }) => message);
      assert.deepEqual([code, messages], [0, Array(3).fill('taken by 42')], args.join(' '));
    }
  });

  it('tail shows the lines of one tenant, harmless on a terminal, and sums up when it is interrupted', async () => {
    const shown = ending(/(?:of=acme acme\n[\s\S]*?){3}/);
    const { stdout, stderr } = await says('tail tail_queries --tenant acme', undefined, shown);
    const lines = stdout.trimEnd().split('\n');
    assert.ok(lines.length >= 3);
    const form = /^\d\d:\d\d:\d\d\.\d{3}Z TAIL_QUERIES done\\u000a\\u001b\[2J\\u202e rows=1 of=acme acme$/;
    for (const line of lines) assert.match(line, form);
    assert.match(stderr, /^Tailing TAIL_QUERIES in 1 process until [\d:]+Z; Ctrl-C ends it\.\n/);
    assert.match(stderr, /\n\d+ lines from 1 process, 0 dropped\.\n$/);
    assert.deepEqual(emitted, []);
    assert.equal(queries.enabled, false);
  });

  it('tail shows the stack of an error in lines below its own', async () => {
    const failing = service.category('FAILING');
    const error = Object.assign(new Error('no credit'), {
      stack: 'Error: no credit\n    at pay (\u001b[2Jpay.js:1:2)',
    });
    const failures = setInterval(() => failing.debug('refused', error), 20);
    const { stdout } = await rdcp(['tail', 'FAILING', '--lines', '1']);
    clearInterval(failures);
    const [line, ...below] = stdout.trimEnd().split('\n');
    assert.match(line!, / FAILING refused exception\.type=Error exception\.message="no credit"$/);
    assert.deepEqual(below, ['    Error: no credit', '        at pay (\\u001b[2Jpay.js:1:2)']);
  });

  it('tail -o json prints each line as JSON; a pattern is noted', async () => {
    const options = { ...ending(/TAIL_POOL.*theirs/s), err: /^TAIL_\* matches TAIL_POOL, TAIL_QUERIES\.\n/ };
    const lines = jsonLines((await says('tail TAIL_* -o json', undefined, options)).stdout);
    assert.ok(lines.some(({ category }) => category === 'TAIL_POOL'));
    assert.ok(lines.some(({ tenant, message }) => tenant === 'other' && message === 'theirs'));
  });

  it('tail ends after its time or its lines, reports dropped lines, and is audited', async () => {
    const err = /Ended: the time is over\.\n\d+ lines? from 1 process, [1-9]\d* dropped\.\n$/;
    await says('tail TAIL_POOL --for 1s --rate 1', undefined, { err });
    await says('tail TAIL_POOL --lines 2', /^.*\n.*\n$/);
    const [end, begin] = await audited();
    assert.deepEqual(
      [end.otelrdcp_tail.state, end.otelrdcp_tail.reason, end.otelrdcp_tail.lines],
      ['end', 'budget', 2],
    );
    assert.deepEqual([begin.otelrdcp_tail.state, begin.identity.userId], ['begin', 'alice']);
  });

  it('tail of a tenant that the service does not know says so, and goes on', async () => {
    for (const [tenant, lines] of [
      ['acmee', 1],
      ['acme', 0],
    ] as const) {
      const { stderr } = await says(`tail TAIL_QUERIES --tenant ${tenant} --for 1s`);
      assert.equal(stderr.match(/^rdcp: Unknown tenant acmee \(not configured/gm)?.length ?? 0, lines, stderr);
    }
  });

  it('enable for a misspelt tenant is done, and says on stderr which tenant may have been meant', async () => {
    for (const [tenant, warning] of [
      ['othr', /^rdcp: Unknown tenant [^\n]*: did you mean other\?\n$/],
      ['zzzzzzz', /^rdcp: Unknown tenant [^\n]*; known are acme, other[^\n]*\.\n$/],
      ['other', /^$/],
    ] as const) {
      const line = `enable TAIL_POOL --for 1m --tenant ${tenant} -o json`;
      const { stdout } = await says(line, undefined, { err: warning });
      assert.equal(JSON.parse(stdout).tenant.id, tenant);
      await rdcp(['reset', 'TAIL_POOL', '--tenant', tenant]);
    }
  });

  it('tail says that the connection was closed when its service is killed', async (t) => {
    const there = await madeUp(t, (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const open = { revision: 0, instances: 1, categories: ['SQL'], expiresAt: '2026-01-01T00:00:00.000Z' };
      response.write(event('start', open), () => response.destroy());
    });
    const { code, stderr } = await run(['tail', 'SQL', '--url', there]);
    assert.equal(code, 4);
    assert.match(
      stderr,
      /\n0 lines from 0 processes, 0 dropped\.\nrdcp: RDCP_UNAVAILABLE: [^\n]*closed the connection/,
    );
    assert.doesNotMatch(stderr, /https:|without a response/);
  });

  it('tail goes on with another process of the service after a deployment, for the rest of its time and lines', async (t) => {
    const asked: URLSearchParams[] = [];
    const expiresAt = () => new Date(Date.now() + 60_000).toISOString();
    const timestamp = new Date().toISOString();
    const line = { timestamp, category: 'SQL', message: 'done', attributes: {}, instance: 'p1' };
    const there = await madeUp(t, (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      if (pathname.endsWith('/fleet')) {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        const instances = [{ id: 'p1', host: 'shop-1', pid: 12 }];
        const lost = [{ id: 'p2', host: 'shop-2', pid: 13, lastSeenAt: timestamp }];
        response.end(JSON.stringify({ protocol: 'rdcp/1.0', timestamp: expiresAt(), instances, lost }));
        return;
      }
      asked.push(searchParams);
      const open = event('start', { revision: 0, instances: 1, categories: ['SQL'], expiresAt: expiresAt() });
      const last = asked.length === 3;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(open + event('line', line), () => {
        if (asked.length === 1) response.destroy();
        else response.end(event('end', { reason: last ? 'budget' : 'shutdown', lines: 1, dropped: 0 }));
      });
    });
    const { code, stdout, stderr } = await run(['tail', 'SQL', '--for', '1m', '--lines', '3', '--url', there]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^(?:\S+Z SQL done shop-1:12\n){3}$/);
    assert.deepEqual(
      asked.map((query) => query.get('lines')),
      ['3', '2', '1'],
    );
    const seconds = asked.map((query) => Number.parseInt(query.get('duration') ?? '', 10));
    assert.ok(Number(seconds[2]) < 60 && Number(seconds[2]) > 30, `${seconds}`);
    assert.match(stderr, /closed the connection; asking again until it answers\.\n/);
    assert.match(stderr, /Lines of shop-2:13 \(not heard of since [\d:]+\S*\) are missing\.\n/);
    assert.match(stderr, /The service shuts down; asking again until it answers\.\n/);
    assert.match(stderr, /3 lines from 1 process, 0 dropped\.\n$/);
  });

  it('forecast shows what a category would emit, for how much of the fleet', async () => {
    const head = /^CATEGORY +CALLS\/S +BYTES\/S +BYTES\/CALL +GB\/DAY +DROPPED\/S\n/;
    const { stdout } = await says('forecast TAIL_POOL tail_queries --for 1s', head);
    assert.match(stdout, /^TAIL_POOL +\d+(?:\.\d)? +\d+ +\d+(?:\.\d)? +0\.\d{3} +\d/m);
    assert.match(stdout, /\nmeasured for 1s in 1 of 1 process\n$/);
    assert.deepEqual(emitted, []);
  });

  it('list --measure shows the calls of what is off too, --on what is on alone', async () => {
    await says('list TAIL_*', /^TAIL_POOL +off +- +(?:-|\d+) +-$/m);
    await says('list tail_* --measure', /^TAIL_POOL +off +- +(?:-|\d+) +[1-9]\d*\.\d/m);
    const { categories, measured } = JSON.parse((await says('list TAIL_POOL --measure --json')).stdout);
    assert.deepEqual([categories.length, Object.keys(measured.categories)], [1, ['TAIL_POOL']]);
    await says('list TAIL_* --on', /^.*\n$/);
    await says('list TAIL_POL', '', { code: 1, err: /Unknown category: TAIL_POL/ });
  });

  it('enable --forecast shows the forecast, and asks a person', async (t) => {
    const metric = (value: number) => ({ value });
    const figures = { callsPerSecond: metric(50), bytesPerSecond: metric(5000), gigabytesPerDay: metric(0.4) };
    const there = await fakeService(t, {
      duration: '10s',
      instances: { asked: 3, answered: 2 },
      categories: { SQL: { ...figures, droppedByBudget: metric(30) } },
    });
    const enable = (options: RunOptions) => run(['enable', 'SQL', '--forecast', '--url', there.url], options);
    const { code, stderr } = await enable({ typed: 'n\n' });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^CATEGORY .*\nSQL +50 +5000 +- +0\.400 +30\n\nmeasured for 10s in 2 of 3 processes\n\n1 process of 3 did not answer: [^\n]*\nenable this category for 15m\? \[y\/N\] Nothing was changed\.\n$/,
    );
    assert.deepEqual(
      there.seen.map(({ target, body }) => [target, body]),
      [['POST /rdcp/v1/forecast', '{"categories":["SQL"]}']],
    );
    for (const format of ['table', 'json']) {
      const { code, stderr } = await run(['forecast', 'SQL', '-o', format, '--url', there.url]);
      assert.deepEqual([code, stderr], [3, '1 process of 3 did not answer: the figures leave it out.\n']);
    }
  });
});
