import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { TailEvent, TailLine } from '../../src/wire/streams.ts';
import { atMost } from '../support/at-most.ts';
import { until } from '../support/until.ts';

export const KEY = generateApiKey({ env: 'test', randomBytes });

export interface Member {
  readonly url: string;
  readonly child: ChildProcess;
  readonly client: ReturnType<typeof createRdcpClient>;
  /** What it wrote to its own outputs. */
  output: string;
  enabled(): Promise<boolean>;
}

/** The configuration of a process. @param more in place of what a fleet usually has */
export function configOf(store: string, more: RdcpConfig = {}): RdcpConfig {
  return {
    server: { port: 0 },
    store,
    tenancy: { isolation: 'organization' },
    announce: false,
    emit: { to: 'stderr' },
    security: { apiKeys: [{ id: 'test', hash: hashApiKey(KEY), clientId: 'test', scopes: ['admin'] }] },
    ...more,
  };
}

/** A fleet of real processes that share a store. They end with the test. */
export async function startFleet(
  t: TestContext,
  store: string,
  size: number,
  more?: RdcpConfig,
): Promise<readonly Member[]> {
  const config = configOf(store, more);
  const members = await Promise.all(Array.from({ length: size }, () => startMember(t, config)));
  for (const { client } of members) {
    const seen = async () => (await client.status()).otelrdcp_fleet?.instances ?? 0;
    await until(`${size} processes`, async () => (await seen()) >= size);
  }
  return members;
}

/** A real process with a service. It ends with the test. @param env in addition to the environment of the test */
export async function startMember(
  t: TestContext,
  config: RdcpConfig,
  program = 'member.ts',
  env: NodeJS.ProcessEnv = {},
): Promise<Member> {
  const child = fork(join(import.meta.dirname, program), [JSON.stringify(config)], {
    execArgv: ['--no-warnings'],
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  const member: Member = {
    url,
    child,
    client: createRdcpClient({ baseUrl: url, apiKey: KEY }),
    output: '',
    async enabled() {
      child.send('');
      const [{ enabled }] = (await once(child, 'message')) as [{ enabled: boolean }];
      return enabled;
    },
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (member.output += text));
  return member;
}

/** The incident: one tenant's lines from every process, in one place, and nothing left of it when the reader leaves. */
export async function checkTail(t: TestContext, store: string): Promise<void> {
  const fleet = await startFleet(t, store, 3);
  const { instances } = await fleet[0]!.client.fleet();
  const ids = instances.map(({ id }) => id).sort();
  const asTenant = { tenantId: 'acme' };
  const began = performance.now();
  const events: TailEvent[] = [];
  const from = new Set<string>();
  const client = clientFor(fleet[0]!, asTenant);
  for await (const event of client.tail('DATABASE', { duration: '1m' })) {
    events.push(event);
    if (event.event === 'line') from.add(event.data.instance);
    if (from.size === 3 && events.length > 60) break;
  }
  t.diagnostic(`60 events of three processes after ${Math.round(performance.now() - began)} ms`);
  assert.equal(events[0]?.event === 'start' && events[0].data.instances, 3);
  assert.deepEqual([...from].sort(), ids);
  const lines = events.filter(({ event }) => event === 'line').map(({ data }) => data as TailLine);
  for (const { tenant, message, attributes } of lines) {
    assert.deepEqual([tenant, message, attributes.token], ['acme', "acme's query", '[redacted]']);
  }
  await off(fleet, 2000);
  for (const { output } of fleet) assert.doesNotMatch(output, /query/);

  const { instances: asked, categories } = await client.forecast('DATABASE', { duration: 1 });
  assert.deepEqual(asked, { asked: 3, answered: 3 });
  const rate = categories.DATABASE?.callsPerSecond.value ?? 0;
  assert.ok(rate > 30 && rate < 200, `${rate} calls a second of one tenant in three processes`);
  for (const { output } of fleet) assert.doesNotMatch(output, /query/);
}

/** Those who come late: every process has recorded its lines, and they go over into the live ones without a gap. */
export async function checkPast(t: TestContext, store: string): Promise<void> {
  const fleet = await startFleet(t, store, 3, { recorder: { categories: ['DATABASE'] } });
  const { instances } = await fleet[0]!.client.fleet();
  const client = clientFor(fleet[0]!, { tenantId: 'acme' });
  const lines = new Map<string, TailLine[]>();
  const live = new Set<string>();
  const past: string[] = [];
  for await (const { event, data } of client.tail('DATABASE', { since: '30s', rate: 1000 })) {
    if (event === 'now') assert.deepEqual([data.instances, live.size], [{ asked: 3, answered: 3 }, 0]);
    if (event !== 'line') continue;
    lines.set(data.instance, [...(lines.get(data.instance) ?? []), data]);
    if (data.recorded) past.push(data.timestamp);
    else live.add(data.instance);
    if (live.size === 3) break;
  }
  assert.ok(past.length > 3);
  assert.deepEqual(past, past.toSorted(), 'in the order of their times');
  assert.deepEqual([...lines.keys()].sort(), instances.map(({ id }) => id).sort());
  for (const [instance, of] of lines) {
    const first = Number(of[0]?.attributes.count);
    const counts = of.map(({ attributes }) => attributes.count);
    assert.deepEqual(
      counts,
      of.map((_, index) => first + index),
      `every line of ${instance} once and in order`,
    );
    assert.ok(of.every(({ tenant, attributes }) => tenant === 'acme' && attributes.token === '[redacted]'));
  }
}

/** @param member whose process serves the requests; @param options its own key is used unless they have another */
export function clientFor(member: Member, options: { readonly tenantId?: string; readonly apiKey?: string }) {
  return createRdcpClient({ baseUrl: member.url, apiKey: KEY, ...options });
}

/** Waits until no process is tapped any more. */
export async function off(fleet: readonly Member[], milliseconds: number): Promise<number> {
  const began = performance.now();
  while ((await Promise.all(fleet.map((member) => member.enabled()))).includes(true)) {
    assert.ok(performance.now() - began < atMost(milliseconds), `still tapped after ${milliseconds} ms`);
    await sleep(50);
  }
  return performance.now() - began;
}
