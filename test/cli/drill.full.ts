// Measures, so nothing runs beside it: a drill, step by step, in seconds.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditEntry, createRdcpClient } from '../../src/client.ts';
import { type Child, start } from '../examples/child.ts';
import { withProgram } from '../examples/required-program.ts';
import { startRedis } from '../store/redis-server.ts';
import { built, ROOT } from '../support/built.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { openTerminal, type TerminalWindow } from './tmux.ts';

const KEY = 'a key of the operator in the drill, long enough'.replaceAll(' ', '-');
const SHOPS = 3;
/** Lines a second that a category may write in one process, unless something else is configured. */
const RATE = 500;

interface DrillShop {
  readonly child: Child;
  readonly url: string;
  /** Whether a debug point of acme is wanted there, by the switch or by a reader. */
  wanted(): boolean;
}

interface Drill {
  readonly cwd: string;
  readonly shops: readonly DrillShop[];
  readonly terminal: TerminalWindow;
}

/** The shop as a fleet of three with two tenants, and an operator at a terminal. */
async function setUp(t: TestContext): Promise<Drill> {
  const cwd = mkdtempSync(join(tmpdir(), 'rdcp-drill-'));
  const redis = await startRedis();
  t.after(() => redis.close());
  const config = join(cwd, 'rdcp.json');
  writeFileSync(config, JSON.stringify({ tenancy: { isolation: 'organization', tenants: { acme: {}, globex: {} } } }));
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:OTEL|RDCP|SHOP|NODE)_/.test(name)),
  );
  const imports = ['opentelemetry-instrumentation-rdcp/register', './drill-loop.ts'].map((name) =>
    import.meta.resolve(name),
  );
  const shops = await Promise.all(
    Array.from({ length: SHOPS }, async (_, index): Promise<DrillShop> => {
      const port = await freePort();
      const state = join(cwd, `state-${index}`);
      const child = await start(
        process.execPath,
        [...imports.flatMap((url) => ['--import', url]), join(ROOT, 'examples/shop/main.ts')],
        {
          cwd,
          env: {
            ...inherited,
            ...{ SHOP_PORT: '0', SHOP_RATE: '20', SHOP_SEED: String(index + 1), SHOP_TENANTS: 'acme,globex' },
            ...{ RDCP_PORT: String(port), RDCP_STORE: redis.url, RDCP_CONFIG: config, RDCP_SERVER_API_KEY: KEY },
            ...{ OTEL_METRICS_EXPORTER: 'none', OTEL_SERVICE_NAME: 'shop', DRILL_STATE: state },
          },
        },
      );
      t.after(() => child.end());
      const url = `http://127.0.0.1:${port}`;
      return { child, url, wanted: () => readFileSync(state, 'utf8') === 'wanted' };
    }),
  );
  for (const { url } of shops) {
    await until('a fleet of three', async () => {
      const client = createRdcpClient({ baseUrl: url, apiKey: KEY });
      const fleet = await client.fleet().catch(() => undefined);
      return fleet?.instances.length === SHOPS && fleet.instances.every(({ pending }) => !pending) ? true : undefined;
    });
  }
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'rdcp'), `#!/bin/sh\nexec '${process.execPath}' '${built('cli/main.js')}' "$@"\n`);
  chmodSync(join(bin, 'rdcp'), 0o755);
  const [first] = shops;
  const terminal = openTerminal(
    { PATH: `${bin}:${process.env.PATH}`, RDCP_URL: first?.url ?? '', RDCP_API_KEY: KEY, XDG_CONFIG_HOME: cwd },
    cwd,
  );
  t.after(() => {
    terminal.close();
    rmSync(cwd, { recursive: true });
  });
  await terminal.until(/ready> $/m);
  return { cwd, shops, terminal };
}

const LINE = /^\d\d:\d\d:\d\d\.\d{3}Z DATABASE query .*=\S+ (?<tenant>\S+) (?<process>\S+:\d+)(?: trace_id=\w+)?$/;

function linesOf(shown: string) {
  return shown
    .split('\n')
    .map((line) => LINE.exec(line)?.groups)
    .filter((groups) => groups !== undefined);
}

/** Debug lines in what the services themselves have written. */
function written(shops: readonly DrillShop[], category: string): number {
  const all = shops.map(({ child }) => child.output.stdout + child.output.stderr).join('');
  return all.split('\n').filter((line) => line.includes(` DEBUG ${category} `)).length;
}

test('the drill: something is wrong for one customer of a fleet of three', { timeout: 180_000 }, (t) =>
  withProgram(t, 'tmux', async () => {
    const { cwd, shops, terminal } = await setUp(t);
    const nobodyLooks = (of: readonly DrillShop[]) => of.every((shop) => !shop.wanted());

    await t.test('what would it cost?', async () => {
      terminal.type('rdcp forecast DATABASE --for 2s; echo "code $?"');
      const shown = await terminal.until(/code \d/);
      assert.match(shown, /^DATABASE +\d/m);
      assert.match(shown, /^measured for 2s in 3 of 3 processes$/m);
      assert.match(shown, /^code 0$/m);
      await terminal.clear();
    });

    await t.test(
      "the customer's lines come from three processes, no other customer's, and go to this reader alone",
      async () => {
        terminal.type('rdcp tail DATABASE --tenant acme --for 5m');
        await terminal.until(/^Tailing DATABASE in \d/m);
        const opened = performance.now();
        const processes = () => new Set(linesOf(terminal.shown()).map((line) => line.process)).size;
        await until('lines of three processes', () => (processes() === SHOPS ? true : undefined), 20_000);
        const took = performance.now() - opened;
        t.diagnostic(`lines of three processes after ${took.toFixed(0)} ms`);
        assert.ok(took < 2000, `${took} ms`);
        const lines = await until('more than 20 lines', () => {
          const found = linesOf(terminal.shown());
          return found.length > 20 ? found : undefined;
        });
        assert.deepEqual([...new Set(lines.map(({ tenant }) => tenant))], ['acme']);
        assert.ok(shops.every((shop) => shop.wanted()));
        assert.equal(written(shops, 'DATABASE'), 0);
      },
    );

    await t.test('Ctrl-C ends it in every process', async () => {
      terminal.press('C-c');
      const pressed = performance.now();
      await terminal.until(/\d+ lines from 3 processes, \d+ dropped\.\nready> $/m);
      await until('no reader left', () => (nobodyLooks(shops) ? true : undefined), 10_000);
      t.diagnostic(`off everywhere ${(performance.now() - pressed).toFixed(0)} ms after Ctrl-C`);
      terminal.type('echo "code $?"');
      await terminal.until(/^code 0$/m);
      await terminal.clear();
    });

    await t.test('a category in a hot loop stays in its budget', async () => {
      terminal.type('rdcp enable HOT_LOOP --for 1m --reason "is it this one?"');
      await terminal.until(/^HOT_LOOP on for 1m, until (?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\S+$/m);
      const before = written(shops, 'HOT_LOOP');
      const began = performance.now();
      await sleep(3000);
      const seconds = (performance.now() - began) / 1000;
      const lines = written(shops, 'HOT_LOOP') - before;
      t.diagnostic(`${lines} lines in ${seconds.toFixed(1)} s by three processes`);
      // The burst comes on top once: two seconds' worth.
      const most = SHOPS * RATE * (seconds + 2) * 1.1;
      assert.ok(lines > 100 && lines < most, `${lines} lines, at most ${most}`);
      terminal.type('rdcp disable HOT_LOOP; rdcp list');
      await terminal.until(/^HOT_LOOP +off .* [1-9]\d{2,} +Called as often/m);
      await terminal.clear();
    });

    await t.test('a tail ends everywhere when the process that serves it is killed', async () => {
      const [serving, ...others] = shops;
      terminal.type('rdcp tail DATABASE --tenant acme; echo "code $?"');
      await until('lines of three processes', () =>
        new Set(linesOf(terminal.shown()).map((line) => line.process)).size === SHOPS ? true : undefined,
      );
      process.kill(serving?.child.pid ?? 0, 'SIGKILL');
      const killed = performance.now();
      await terminal.until(/asking again until it answers\.$/m);
      await until('no reader left', () => (nobodyLooks(others) ? true : undefined), 10_000);
      const took = performance.now() - killed;
      t.diagnostic(`off everywhere ${took.toFixed(0)} ms after kill -9`);
      assert.ok(took < 5000, `${took} ms`);
      terminal.press('C-c');
      await terminal.until(/^code 1$/m);
      await terminal.clear();
    });

    await t.test('the trail records all of it', async () => {
      terminal.type(`rdcp audit --url ${shops[1]?.url} -o json > audit.json; echo "code $?"`);
      await terminal.until(/^code 0$/m);
      const { entries } = JSON.parse(readFileSync(join(cwd, 'audit.json'), 'utf8'));
      const told = entries
        .toReversed()
        .filter(({ action }: { action: string }) => action !== 'start')
        .map(({ action, categories, otelrdcp_tail: tail, tenant }: AuditEntry) =>
          [action, ...categories, ...(tail ? [tail.state] : []), ...(tenant ? [tenant.id] : [])].join(' '),
        );
      assert.deepEqual(told, [
        'forecast DATABASE',
        'tail DATABASE begin acme',
        'tail DATABASE end acme',
        'enable HOT_LOOP',
        'disable HOT_LOOP',
        'tail DATABASE begin acme',
      ]);
    });
  }),
);
