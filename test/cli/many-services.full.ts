// Measures, so nothing runs beside it: what services cost that do not answer.

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeKey } from '../auth/records.ts';
import { start as startProgram } from '../examples/child.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { until } from '../support/until.ts';

const ops = makeKey({ id: 'ops', clientId: 'ops', scopes: ['admin'] });
/** Two share a SQLite file, one has its own, two are in memory. */
const SERVICES = {
  shop: { framework: 'koa', store: 'memory:' },
  cart: { framework: 'express', store: 'shared' },
  pay: { framework: 'fastify', store: 'shared' },
  stock: { framework: 'koa', store: 'own' },
  ship: { framework: 'express', store: 'memory:' },
} as const;
type Name = keyof typeof SERVICES;
const NAMES = Object.keys(SERVICES) as Name[];
/** Requests to each service, before and after one is stopped. */
const ROUNDS = 40;
/** The timeout of the client, and what a busy machine adds. */
const [TIMEOUT_MS, MARGIN_MS] = [30_000, 15_000];

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
}

async function start(t: TestContext, name: Name, folder: string): Promise<Running> {
  const { framework, store } = SERVICES[name];
  const config = {
    store: store === 'memory:' ? store : `sqlite:${join(folder, `${store}.sqlite`)}`,
    security: { apiKeys: [ops.record] },
    emit: { to: 'stderr' },
    announce: false,
  };
  const child = fork(join(import.meta.dirname, 'framework-service.ts'), [framework, JSON.stringify(config)], {
    execArgv: ['--no-warnings'],
    env: { ...PROGRAM_ENV, OTEL_RESOURCE_ATTRIBUTES: `service.name=${name}` },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return { child, url };
}

/** The command as a process of its own, with a profile for each service. */
async function command(t: TestContext, folder: string, urls: Readonly<Record<string, string>>, line: string) {
  const profiles = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url, apiKey: ops.key }]));
  mkdirSync(join(folder, 'rdcp'), { recursive: true });
  const groups = { all: Object.keys(urls) };
  writeFileSync(join(folder, 'rdcp', 'profiles.json'), JSON.stringify({ profiles, groups }), { mode: 0o600 });
  const env = { ...PROGRAM_ENV, XDG_CONFIG_HOME: folder };
  const child = await startProgram(process.execPath, [built('cli/main.js'), ...line.split(' ')], { cwd: folder, env });
  t.after(() => child.end('SIGKILL'));
  return child;
}

test('one tail has every line of five services once and in order, also while one is stopped', async (t) => {
  const folder = newFolder(t);
  const started = await Promise.all(NAMES.map(async (name) => [name, await start(t, name, folder)] as const));
  const services = Object.fromEntries(started) as Record<Name, Running>;
  const urls = Object.fromEntries(started.map(([name, { url }]) => [name, url]));
  const tail = await command(t, folder, urls, '-s @all tail PAY* --rate 1000 --for 5m');
  const { output: written } = tail;
  await until('all are read', () => {
    const tailing = NAMES.filter((name) => written.stderr.includes(`${name}: Tailing PAYMENT`));
    // Those that share a store read both processes.
    return tailing.length === NAMES.length && written.stderr.match(/All 2 processes take part/g)?.length === 2;
  });

  const visit = async (names: readonly Name[], from: number) => {
    for (let order = from; order < from + ROUNDS; order++) {
      for (const name of names) await (await fetch(`${services[name].url}/${name}-${order}`)).text();
    }
  };
  const linesOf = () => written.stdout.split('\n').filter((line) => line !== '');
  await visit(NAMES, 0);
  await until('the lines of all', () => linesOf().length >= NAMES.length * ROUNDS);
  const others = NAMES.filter((name) => name !== 'ship');
  services.ship.child.kill('SIGSTOP');
  await visit(others, ROUNDS);
  await until('the lines of the others', () => linesOf().length >= (NAMES.length + others.length) * ROUNDS);
  await until('the tail misses the one that is stopped', () => /^ship: .*asking again/m.test(written.stderr));
  assert.equal(await tail.end('SIGINT'), 3, written.stderr);

  const lines = linesOf().map((line) => line.split(/ +/));
  const times = lines.map(([, time = '']) => time);
  assert.deepEqual(times, times.toSorted());
  for (const name of NAMES) {
    const count = name === 'ship' ? ROUNDS : 2 * ROUNDS;
    const own = lines.filter(([service]) => service === name).map((words) => words[4]);
    assert.deepEqual(
      own,
      Array.from({ length: count }, (_, order) => `${name}-${order}`),
    );
  }
  assert.equal(lines.length, (NAMES.length + others.length) * ROUNDS);
  assert.match(written.stderr, /^rdcp: not done for 1 of 5 services: ship$/m);

  const began = performance.now();
  const switching = await command(t, folder, urls, 'enable PAYMENT -s @all');
  assert.equal(await switching.ended, 3);
  const took = performance.now() - began;
  assert.ok(took < TIMEOUT_MS + MARGIN_MS, `${took} ms`);
  assert.match(switching.output.stderr, /^rdcp: ship: RDCP_TIMEOUT/m);
  // The one that comes second of those that share a store finds it on.
  for (const name of others) assert.match(switching.output.stdout, new RegExp(`^${name}: PAYMENT on for 15m, `, 'm'));
  services.ship.child.kill('SIGCONT');
});
