import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, StatusResponse } from '../../src/wire/messages.ts';
import { RECORDS, send, type TestAnswer, type TestRequest } from '../support/server.ts';
import { type Program, type ProgramOptions, run } from './program.ts';

const PROCESS = join(import.meta.dirname, 'service-process.ts');

/** A configuration for a service of a test: any port, the keys of tests, and no limit that a test runs into by chance. */
export function testConfig(config: RdcpConfig = {}): RdcpConfig {
  return {
    server: { port: 0 },
    security: { apiKeys: RECORDS },
    limits: { controlPerMinute: 1_000_000, readPerMinute: 1_000_000, anonymousPerMinute: 1_000_000 },
    // A process that was killed is in the list of those who share the file for a while. Tests do not wait for it.
    fleet: { acknowledgeTimeoutSeconds: 0.02 },
    ...config,
  };
}

/** A service in a process of its own. */
export interface Service extends Program {
  readonly url: string;
  request<T>(path: string, request?: TestRequest): Promise<TestAnswer<T>>;
  control(body: object, requestId?: string): Promise<TestAnswer<ControlResponse>>;
  states(): Promise<StatusResponse['categories']>;
  /** How long its event loop was held since this was asked last, in milliseconds. */
  delay(): Promise<{ readonly p99: number; readonly longest: number }>;
  /** The last moments at which its gate said yes, by {@link hostClock}. */
  momentsOn(): Promise<readonly number[]>;
}

export interface ServiceOptions extends Omit<ProgramOptions, 'args'> {
  readonly config?: RdcpConfig;
  /** Also write every log record on stdout. @default false */
  readonly logsRecords?: boolean;
  /** Mount the endpoint in a server of the application. @default false */
  readonly mounts?: boolean;
}

export async function startService(t: TestContext, options: ServiceOptions = {}): Promise<Service> {
  const { config, logsRecords = false, mounts = false, ...rest } = options;
  const instructions = JSON.stringify({ config: testConfig(config), logsRecords, mounts });
  const program = run(t, PROCESS, { ...rest, args: [instructions] });
  const [, url = ''] = await program.found(/^ready (\S+)$/m);
  return serviceOf(program, url);
}

/** A program that listens there, as a service. */
export function serviceOf(program: Program, url: string): Service {
  const request = <T>(path: string, sent?: TestRequest) => send<T>(url + path, sent);
  return {
    ...program,
    url,
    request,
    control: (body, requestId) =>
      request(PATHS.control, {
        method: 'POST',
        key: 'operator',
        body,
        ...(requestId !== undefined && { headers: { 'X-RDCP-Request-ID': requestId } }),
      }),
    delay: async () => {
      program.child.send('delay');
      const [delay] = await once(program.child, 'message');
      return delay as { readonly p99: number; readonly longest: number };
    },
    momentsOn: async () => {
      program.child.send('moments');
      const [moments] = await once(program.child, 'message');
      return moments as readonly number[];
    },
    states: async () => (await request<StatusResponse>(PATHS.status, { key: 'status' })).body.categories,
  };
}

/** Every entry of the trail in a file, newest first, down to the one with that id. */
export function trailOf(file: string, knownId?: string): Promise<AuditEntry[]> {
  return trailIn(createSqliteStore(file), knownId);
}

/** The same of a store, which is closed then. */
export async function trailIn(store: StateStore, knownId?: string): Promise<AuditEntry[]> {
  try {
    const entries: AuditEntry[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.queryAudit({ limit: 1000, ...(cursor !== undefined && { cursor }) });
      const known = page.entries.findIndex(({ id }) => id === knownId);
      if (known !== -1) return [...entries, ...page.entries.slice(0, known)];
      entries.push(...page.entries);
      cursor = page.next;
    } while (cursor !== undefined);
    return entries;
  } finally {
    await store.close();
  }
}
