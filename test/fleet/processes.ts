import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { RedisClusterOptions, RedisSentinelOptions } from 'redis';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import type { ControlResponse, FleetResponse, FleetSummary, StatusResponse } from '../../src/wire/messages.ts';
import { atMost } from '../support/at-most.ts';
import { ownTime } from '../support/own-time.ts';

const MEMBER = join(import.meta.dirname, 'member.ts');
export const KEY = generateApiKey({ env: 'test', randomBytes });

/** One process of a fleet that a test started. */
export type MemberProcess = Awaited<ReturnType<typeof startMember>>;

/** A process gets its configuration as JSON, so that it makes a client of Redis itself. */
export interface MemberConfig extends RdcpConfig {
  readonly redis?: { readonly sentinel: RedisSentinelOptions } | { readonly cluster: RedisClusterOptions };
}

/** @param program what it runs, which listens and tells where */
export async function startMember(config: MemberConfig, program = MEMBER) {
  const full: MemberConfig = {
    server: { port: 0 },
    security: { apiKeys: [{ id: 'test', hash: hashApiKey(KEY), clientId: 'test', scopes: ['admin'] }] },
    limits: { controlPerMinute: 1_000_000, readPerMinute: 1_000_000, anonymousPerMinute: 1_000_000 },
    ...config,
  };
  const child = fork(program, [JSON.stringify(full)], {
    execArgv: ['--no-warnings'],
    env: { ...process.env, OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop,service.version=7' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const started = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (started === undefined) throw new Error('a process of the fleet ended at its start');
  const [{ url }] = started as [{ url: string }];
  return member(child, url, exited);
}

function member(child: ChildProcess, url: string, exited: Promise<number | null>) {
  async function get<T>(path: string): Promise<T> {
    const response = await fetch(url + path, {
      headers: { 'X-RDCP-API-Key': KEY },
      signal: AbortSignal.timeout(10_000),
    });
    return (await response.json()) as T;
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    // One that was stopped hears no other signal.
    if (signal !== 'SIGKILL') child.kill('SIGCONT');
    child.kill(signal);
    await exited;
  }
  return {
    url,
    pid: child.pid as number,
    get,
    async control(body: object, requestId: string = randomUUID()) {
      const response = await fetch(`${url}/rdcp/v1/control`, {
        method: 'POST',
        headers: { 'X-RDCP-API-Key': KEY, 'X-RDCP-Request-ID': requestId, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(35_000),
      });
      const replayed = response.headers.get('X-RDCP-Replayed') === 'true';
      return { status: response.status, replayed, body: (await response.json()) as ControlResponse };
    },
    /** What its gate says. */
    async enabled(name = 'DATABASE') {
      child.send(name);
      const [answer] = (await once(child, 'message')) as [{ enabled: boolean }];
      return answer.enabled;
    },
    /** Its id in the fleet. */
    async id() {
      const { instances } = await get<FleetResponse>('/rdcp/v1/fleet');
      const own = instances.find(({ pid }) => pid === child.pid);
      assert.ok(own, 'a process is on the list that it shows');
      return own.id;
    },
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Calls back with everything that its program sends. */
    onMessage: (listener: (message: unknown) => void) => void child.on('message', listener),
    /** Resolves when it has ended, with its exit code, or `null` after a signal. */
    exited,
    /** Ends it as an operator does, and waits. */
    end: () => end('SIGTERM'),
    /** Ends it without a word, and waits. */
    kill: () => end('SIGKILL'),
  };
}

export const enable = (...categories: string[]) => ({ action: 'enable', categories });
export const toggle = (...categories: string[]) => ({ action: 'toggle', categories });

export async function fleetOf(process: MemberProcess): Promise<FleetSummary | undefined> {
  return (await process.get<StatusResponse>('/rdcp/v1/status')).otelrdcp_fleet;
}

/** The whole trail, oldest first. */
export async function trailOf({ url }: MemberProcess): Promise<AuditEntry[]> {
  const client = createRdcpClient({ baseUrl: url, apiKey: KEY });
  const entries: AuditEntry[] = [];
  for await (const entry of client.auditEntries({ limit: 1000 })) entries.unshift(entry);
  return entries;
}

/** Waits until `look` says true; how long it took, in milliseconds. */
export async function eventually(what: string, look: () => Promise<boolean>, ms = atMost(5_000)): Promise<number> {
  const began = performance.now();
  const deadline = ownTime() + ms;
  for (;;) {
    if (await look().catch(() => false)) return performance.now() - began;
    if (ownTime() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits until that many are there, and all have applied everything; how long that took. */
export function together(asked: MemberProcess, count: number, ms?: number): Promise<number> {
  const look = async () => {
    const fleet = await fleetOf(asked);
    return fleet?.instances === count && fleet.applied === count;
  };
  return eventually(`${count} processes to be together`, look, ms);
}

/** Waits until every gate says so; how long that took. */
export function shows(processes: readonly MemberProcess[], on: boolean, name: string, ms?: number): Promise<number> {
  const look = async () => {
    const states = await Promise.all(processes.map((process) => process.enabled(name)));
    return states.every((state) => state === on);
  };
  return eventually(`${name} to be ${on ? 'on' : 'off'} everywhere`, look, ms);
}
