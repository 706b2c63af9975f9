import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RdcpConfig } from '../../src/options/options.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, DiscoveryResponse } from '../../src/wire/messages.ts';
import { samples } from '../metrics/scrape.ts';
import { run } from '../safety/program.ts';
import { serviceOf, testConfig } from '../safety/service.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';

const APP = join(import.meta.dirname, 'app.ts');
const REGISTER = built('register.js');
const ENABLE = { action: 'enable', categories: ['ORDERS'] };

interface Setting {
  /** Which processes have a remote control: by register all, or the workers alone; by code all, or the workers alone. */
  readonly remote: 'register' | 'register in workers' | 'all' | 'workers';
  readonly workers?: number;
  readonly config?: RdcpConfig;
  /** Whether there is no temporary folder. @default false */
  readonly unshared?: boolean;
}

export async function startCluster(t: TestContext, { remote, workers = 2, config, unshared = false }: Setting) {
  const cwd = newFolder(t);
  const full = testConfig({ fleet: { acknowledgeTimeoutSeconds: 25 }, ...config });
  const file = join(cwd, 'rdcp.json');
  writeFileSync(file, JSON.stringify(full));
  // Another user was there first.
  const squatted = `rdcp-cluster-${process.getuid?.()}`;
  mkdirSync(join(cwd, squatted));
  chmodSync(join(cwd, squatted), 0o777);
  const program = run(t, APP, {
    args: [
      JSON.stringify({
        workers,
        remote,
        config: full,
        ...(remote === 'register in workers' && { workersImport: REGISTER }),
      }),
    ],
    imports: remote === 'register' ? [REGISTER] : [],
    cwd,
    // Folders of this test alone.
    env: { TMPDIR: unshared ? file : cwd, RDCP_CONFIG: file, OTEL_EXPORTER_PROMETHEUS_PORT: '0' },
  });
  await program.found(/^ready$/m);
  const [, url = '', metrics = ''] = await (remote.startsWith('register')
    ? program.found(/remote control on (http:[^,\s]+), metrics on (\S+)/, 'stderr')
    : program.found(/^listening (\S+)$/m));
  const ask = async <T>(to: 'primary' | 'workers' | 'fork' | 'kill', deed = '', ...values: number[]): Promise<T> => {
    const answered = once(program.child, 'message');
    program.child.send({ to, deed, values });
    return (await answered)[0].answer;
  };
  const service = serviceOf(program, url);
  const base = join(cwd, readdirSync(cwd).find((name) => name.startsWith('rdcp-cluster-') && name !== squatted) ?? '');
  return {
    ...service,
    ask,
    scrape: async () => {
      const text = await (await fetch(metrics)).text();
      const ofOrders = text.split('\n').filter((line) => line.includes('rdcp_category_name="ORDERS"'));
      return samples(ofOrders.join('\n'), 'rdcp_debug_calls_total', 'process_pid');
    },
    base,
    folders: () => readdirSync(base).filter((name) => name !== 'door'),
    enable: async () => (await service.control(ENABLE)).body,
    calls: async () => {
      const { body } = await service.request<DiscoveryResponse>(PATHS.discovery, { key: 'discovery' });
      return body.categories.find(({ name }) => name === 'ORDERS')?.metrics.callsTotal;
    },
  };
}

/** Asks until the answer is the one expected, or fails with what it was. */
export async function becomes<T>(expected: T, ask: () => Promise<T>): Promise<void> {
  let answer = await ask();
  for (let waited = 0; answer !== expected && waited < 30_000; waited += 50) {
    await sleep(50);
    answer = await ask();
  }
  assert.equal(answer, expected);
}

function applied({ status, otelrdcp_fleet }: ControlResponse): unknown {
  return { status, of: otelrdcp_fleet?.instances, applied: otelrdcp_fleet?.applied };
}

/** The remotes of each case. */
export interface Ways {
  readonly changes: readonly Setting['remote'][];
  readonly lines: readonly ('register' | 'workers')[];
  readonly scrapes: readonly ('register' | 'register in workers')[];
}

export function actAsOne({ changes, lines, scrapes }: Ways): void {
  for (const remote of changes) {
    const members = remote === 'register' || remote === 'all' ? 3 : 2;
    it(`a change is followed by all, and calls are added up: remote control in ${remote}`, async (t) => {
      const cluster = await startCluster(t, { remote });
      assert.deepEqual(applied(await cluster.enable()), { status: 'success', of: members, applied: members });
      assert.deepEqual(await cluster.ask('workers', 'enabled'), [true, true]);
      await cluster.ask('workers', 'emit', 5);
      await becomes(10, cluster.calls);
    });
  }

  for (const remote of lines) {
    it(`one process says a change, and its end: remote control in ${remote}`, async (t) => {
      const cluster = await startCluster(t, { remote, workers: 3 });
      await cluster.control({ ...ENABLE, options: { duration: 5, reason: 'slow checkout' } });
      await cluster.found(/the time is over$/m, 'stderr');
      // Longer than a process waits with a change that it did not make.
      await sleep(600);
      const lines = cluster.output.stderr.split('\n').filter((line) => line.startsWith('rdcp: ORDERS'));
      assert.deepEqual(lines, [
        'rdcp: ORDERS on for 5s by operator-client: slow checkout',
        'rdcp: ORDERS off again, the time is over',
      ]);
    });
  }

  for (const remote of scrapes) {
    const processes = remote === 'register' ? 3 : 2;
    it(`one scrape shows every process, and one line says where: ${remote}`, async (t) => {
      const cluster = await startCluster(t, { remote });
      await cluster.enable();
      await becomes('true,true', async () => String(await cluster.ask('workers', 'enabled')));
      await cluster.ask('workers', 'emit', 5);
      const counts = Object.values(await cluster.scrape());
      assert.equal(counts.length, processes);
      assert.equal(counts.filter((count) => count === 5).length, 2);
      assert.equal(cluster.output.stderr.match(/remote control on/g)?.length, 1, cluster.output.stderr);
      assert.equal(cluster.output.stderr.match(/metrics on/g)?.length, 1, cluster.output.stderr);
    });
  }
}
