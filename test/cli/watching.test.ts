import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { createRdcp } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { portOf } from '../support/listening.ts';
import { until } from '../support/until.ts';
import { type Expected, ending, type RunOptions, rdcp as run, saying } from './run.ts';
import { event, service as fakeService, madeUp, realService } from './service.ts';

const typed = saying(run);

describe('commands that show what a service does', () => {
  const admin = makeKey({ id: 'admin', userId: 'alice', scopes: ['admin'] });
  const viewer = makeKey({ id: 'viewer', scopes: ['discovery'] });
  const tenancy = { isolation: 'organization', tenants: { acme: { name: 'Acme Ltd' } } } as const;
  const { service, rdcp, says } = realService({ tenancy }, [admin, viewer]);
  const pool = service.category('WATCH_POOL');
  service.category('WATCH_QUERIES');
  afterEach(() => rdcp(['reset', '--all', '--yes']));

  it('metrics shows measurements with their units', async () => {
    pool.debug('off');
    const { stdout } = await says('metrics', /^METRIC +VALUE\n(?:.*\n)*memoryUsage +\d+\.\d MiB\n/);
    assert.match(stdout, /^WATCH_POOL +- +-$/m, 'calls of what is off are not counted');
    await says('metrics -o wide', /^heapUsed .*\d{4}-\d\d-\d\dT/m);
  });

  /** Watches while something is switched, and until what was written says so. */
  function watched(args: readonly string[], end: RegExp, options: RunOptions = {}) {
    const { interrupted, heard } = ending(end);
    let seen = '';
    const note = (text: string) => {
      seen += text;
      heard(text);
    };
    const finished = rdcp(['watch', ...args], { ...options, interrupted, heard: note });
    return { finished, shows: (pattern: RegExp) => until(`${pattern}`, () => pattern.test(seen)) };
  }

  it('watch prints one line for each change where it is no terminal, and ends cleanly', async () => {
    const { finished, shows } = watched([], /WATCH_POOL off/);
    await rdcp(['enable', 'WATCH_POOL', '--for', '1h']);
    await shows(/WATCH_POOL on/);
    await rdcp(['disable', 'WATCH_POOL']);
    const { code, stdout, stderr } = await finished;
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(
      stdout,
      /^\d\d:\d\d:\d\d(?:Z|[+-][\d:]+) WATCH_POOL on for (?:59m \d+s|1h 0m) by alice\n\S+ WATCH_POOL off by alice\n$/,
    );
  });

  it('watch paints over its table on a terminal', async () => {
    const terminal = { typed: '', env: { NO_COLOR: '1' } };
    const { finished, shows } = watched(['watch_*'], /WATCH_POOL +on[^\n]*alice/, terminal);
    await shows(/WATCH_POOL +off/);
    await rdcp(['enable', 'WATCH_POOL']);
    const { code, stdout } = await finished;
    assert.equal(code, 0);
    const shown = stdout.replaceAll('\u001b', '<esc>');
    assert.match(shown, /^CATEGORY +STATE +FOR +CALLS\/S +WHO\n/);
    assert.match(shown, /<esc>\[3A\r<esc>\[JCATEGORY/);
  });

  it('watch prints lines on a terminal that cannot be painted over', async () => {
    const { finished } = watched(['watch_*'], /WATCH_POOL on/, { typed: '', env: { TERM: '' } });
    await rdcp(['enable', 'WATCH_POOL']);
    const { stdout } = await finished;
    assert.equal(stdout.includes('\u001b'), false);
  });

  it('watch shows what is on or was switched meanwhile, and no rate that was not measured', async (t) => {
    const plain = { description: '', enabled: false, temporary: false, metrics: { callsTotal: 0, callsPerSecond: 0 } };
    const categories = ['BUSY', 'LATER', 'QUIET'].map((name) => ({ ...plain, name }));
    const busy = { ...categories[0], enabled: true, metrics: { callsTotal: 9, callsPerSecond: 7.5 } };
    const { metrics: _, ...later } = { ...plain, name: 'LATER' };
    const rates = event('rates', { categories: { BUSY: 6 } });
    const events = [
      event('snapshot', { categories: [busy, ...categories.slice(1)] }),
      event('rates', { categories: {} }),
      event('category', { ...later, enabled: true }),
      ...[rates, rates, rates],
      event('category', later),
    ];
    const url = await madeUp(t, (request, response) => {
      if (request.url !== '/rdcp/v1/events') return void response.writeHead(404).end();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(events.join(''));
    });
    const screens: string[] = [];
    const size = { typed: '', columns: 80, env: { NO_COLOR: '1', RDCP_API_KEY: viewer.key } };
    const { heard, interrupted } = ending(/LATER +off/);
    await run(['watch', '--url', url], {
      ...size,
      interrupted,
      heard: (text) => {
        screens.push(text.slice(text.indexOf('CATEGORY')));
        heard(text);
      },
    });
    const [busyOnly = '', fresh = ''] = screens;
    assert.match(busyOnly, /^CATEGORY.*\nBUSY +on +- +7\.5 +-\nand 2 more, off\n$/);
    assert.match(fresh, /\nBUSY +on +- +7\.5 .*\nLATER +on +- +- /);
    assert.match(screens.at(-2) ?? '', /\nBUSY +on +- +6\.0 .*\nLATER +on +- +0\.0 /);
    assert.match(screens.at(-1) ?? '', /\nLATER +off +- +- +-\nand 1 more, off\n$/);
  });

  it('watch polls a service that has no event stream', async (t) => {
    const metrics = { callsTotal: 0, callsPerSecond: 1 };
    const category = { name: 'SQL', description: '', enabled: true, temporary: false, metrics };
    const there = await fakeService(t, { categories: [category], entries: [] });
    const { code, stdout } = await run(['watch', '--url', there.url], ending(/SQL/));
    assert.equal(code, 0);
    assert.match(stdout, /SQL on\n$/);
    const asked = there.seen.map(({ target }) => target);
    assert.ok(asked.includes('GET /rdcp/v1/events') && asked.includes('GET /rdcp/v1/discovery'));
  });

  it('watch into a pipe says when the service is gone, and when it is back', async () => {
    const short = () =>
      createRdcp({
        server: { port },
        security: { apiKeys: [admin.record] },
        categories: { WATCH_THERE: { enabled: true } },
        announce: false,
      });
    let port = 0;
    let there = short();
    const { url } = await there.listen();
    port = Number(new URL(url).port);
    const stop = new AbortController();
    const noted: string[] = [];
    const shown = Promise.withResolvers<void>();
    const finished = run(['watch', '--url', url], {
      heard: () => shown.resolve(),
      env: { RDCP_API_KEY: admin.key },
      interrupted: AbortSignal.any([stop.signal, AbortSignal.timeout(30_000)]),
      noted: async (text) => {
        noted.push(text);
        if (noted.length > 1) return stop.abort();
        there = short();
        await there.listen();
      },
    });
    await shown.promise;
    await there.close();
    assert.equal((await finished).code, 0);
    await there.close();
    assert.match(noted[0] ?? '', /^The server at \S+ [^\n]*; asking again until it answers\.\n$/);
    assert.equal(noted[1], 'The service answers again.\n');
  });

  it('watch shows no names without the scope admin, and refuses a pattern without matches', async () => {
    await rdcp(['enable', 'WATCH_POOL']);
    const { code, stdout } = await watched(['-o', 'json'], /WATCH_POOL/, { env: { RDCP_API_KEY: viewer.key } })
      .finished;
    assert.deepEqual([code, JSON.parse(stdout).name], [0, 'WATCH_POOL']);
    await says('watch NO_*', '', { code: 1 });
  });

  it('wait goes on while the service that it asks restarts, until the time is over', async (t) => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      if (asked === 2) return void response.destroy();
      const instances = [{ id: 'one', applied: asked }];
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ protocol: 'rdcp/1.0', revision: 3, instances }));
      if (asked === 3) server.close();
    });
    const url = `http://127.0.0.1:${await portOf(t, server)}`;
    const env = { RDCP_API_KEY: admin.key };
    await typed(`wait 3 --url ${url}`, 'revision 3 is applied\n', { env });
    assert.equal(asked, 3);
    await typed(`wait 3 --url ${url}`, '', { env, code: 4 });
  });

  it('wait ends when every process has applied the revision, and with 3 when the time is over', async (t) => {
    const instance = (id: string, applied: number) => ({ id, applied, host: id, pid: 12 });
    const { url } = await fakeService(t, { revision: 7, instances: [instance('one', 7), instance('two', 8)] });
    const env = { RDCP_API_KEY: admin.key };
    const says = (line: string, out?: string, more: Expected = {}) =>
      typed(`${line} --url ${url}`, out, { env, ...more });
    await says('wait 7', 'revision 7 applied by 2 of 2 processes\n');
    const late = { code: 3, err: 'Still pending: one:12.\n' };
    await says('wait 8 --timeout 1s', 'revision 8 applied by 1 of 2 processes\n', late);
    const err =
      'Waiting for up to 1s; revision 90 applied by 0 of 2 processes.\nThe newest revision of this service is 8: is 90 of another one?\n';
    await says('wait 90 --timeout 1s', undefined, { typed: '', code: 3, err });
    await says('wait 0');
    for (const revision of ['x', "''", '-1', '1.5', '1e3', '0x7', '9999999999999999', 'null']) {
      const wrong = /^rdcp: the revision must be a whole number from 0 to 999999999999999, not '.*/;
      await says(`wait ${revision}`, '', { code: 2, err: wrong });
    }
    for (const time of ['0', '0s', '-1s', '1.5s', '1ms', 'soon', '99999999999999999d']) {
      const wrong = 'rdcp: --timeout must be a duration such as 30s, 5m or 2h\n';
      await says(`wait 7 --timeout ${time}`, '', { code: 2, err: wrong });
    }
    await says('wait 7 --timeout 99999999d');
  });

  it('wait is over in its time, also where the service says nothing, at first or after an answer', async (t) => {
    for (const answers of [0, 1]) {
      let asked = 0;
      const url = await madeUp(t, (_request, response) => {
        asked += 1;
        if (asked > answers) return;
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end('{"protocol":"rdcp/1.0","revision":2,"instances":[{"id":"one","applied":1}]}');
      });
      // The client itself, which names the server, would wait for 30 s.
      const err = /^rdcp: RDCP_TIMEOUT: The service did not respond in time/;
      await typed(`wait 2 --timeout 1s --url ${url}`, '', { env: { RDCP_API_KEY: admin.key }, code: 4, err });
    }
  });
});
