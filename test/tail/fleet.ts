import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
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

/** @param member whose process serves the requests; @param options its own key is used unless they have another */
export function clientFor(member: Member, options: { readonly tenantId?: string; readonly apiKey?: string }) {
  return createRdcpClient({ baseUrl: member.url, apiKey: KEY, ...options });
}
