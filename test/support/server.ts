import { randomBytes, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import type { TestContext } from 'node:test';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import { openAuthentication } from '../../src/access/configured.ts';
import { CallHistory } from '../../src/calls/metrics/history.ts';
import { createMeasurements } from '../../src/calls/metrics/measurements.ts';
import { addCalls } from '../../src/calls/metrics/shared.ts';
import { Relay } from '../../src/calls/tail/relay.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { Approvals } from '../../src/control/approvals.ts';
import { Choosing } from '../../src/control/fleet/choosing.ts';
import { ControlPlane } from '../../src/control/plane.ts';
import { createIsolation } from '../../src/control/tenancy/isolation.ts';

import type { RequestHandler } from '../../src/endpoint/app.ts';
import { createListener, type ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import { deferApp, Entrance } from '../../src/endpoint/deferred.ts';
import type { EndpointParts } from '../../src/endpoint/parts.ts';
import { OpenStreams } from '../../src/endpoint/streams/open-streams.ts';
import { GateCore } from '../../src/gate/core.ts';
import { parseConfig, type ResolvedConfig } from '../../src/options/config.ts';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { UNWATCHED } from '../../src/otel/report/conditions.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { createAuditTrail } from '../../src/trail/trail.ts';
import { NO_LINES } from '../../src/wire/member-calls.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import { type Clock, systemClock, unrefInterval, unrefTimeout } from '../../src/wire/time/clock.ts';
import { CATEGORIES } from './categories.ts';
import { sinkOf } from './sink.ts';

/** A key for each set of scopes that tests need. */
export const KEY_SCOPES = {
  admin: ['admin'],
  control: ['control'],
  status: ['status'],
  discovery: ['discovery'],
  operator: ['discovery', 'status', 'control'],
  alerts: ['alerts'],
} as const;
export type KeyName = keyof typeof KEY_SCOPES;

export const KEYS = Object.fromEntries(
  Object.keys(KEY_SCOPES).map((name) => [name, generateApiKey({ env: 'test', randomBytes })]),
) as Readonly<Record<KeyName, string>>;

export const RECORDS: ApiKeyRecord[] = Object.entries(KEY_SCOPES).map(([name, scopes]) => ({
  id: name,
  hash: hashApiKey(KEYS[name as KeyName]),
  clientId: `${name}-client`,
  scopes: [...scopes],
}));

/** Limits that no test runs into by chance. */
const GENEROUS = { controlPerMinute: 1_000_000, readPerMinute: 1_000_000, anonymousPerMinute: 1_000_000 };

/** Returns the parts to replace. */
export type Wrap = (parts: EndpointParts) => Partial<EndpointParts>;

export interface TestServerOptions {
  readonly config?: RdcpConfig;
  readonly clock?: Clock;
  /** @default one in memory */
  readonly store?: StateStore;
  /** @default 'test' */
  readonly instanceId?: string;
  readonly checkStore?: () => Promise<void>;
  readonly listener?: ListenerOptions;
  /** Puts something in front of a part, to make it slow or failing. */
  readonly wrap?: Wrap;
}

export interface TestApp {
  readonly handler: RequestHandler;
  readonly config: ResolvedConfig;
  readonly gate: GateCore;
  readonly plane: ControlPlane;
  /** What the client learned nothing about. */
  readonly reports: unknown[];
  readonly authFailures: (readonly [method: string, reason: string])[];
  readonly controlRequests: (readonly [action: string, outcome: string])[];
  readonly streams: OpenStreams;
  /** Records all calls of a category, as the configuration of an owner may say. */
  record(category: string): void;
  startClosing(): void;
}

/** The endpoint on the real parts, listening nowhere. */
export async function assembleApp(t: TestContext, options: TestServerOptions = {}): Promise<TestApp> {
  const { clock = systemClock, instanceId = 'test' } = options;
  const config = parseConfig({
    ...options.config,
    limits: { ...GENEROUS, ...options.config?.limits },
    security: { apiKeys: RECORDS, ...options.config?.security },
  });
  const gate = new GateCore();
  for (const name of CATEGORIES) gate.category(name, { description: `${name} in the test` });
  const measurements = createMeasurements({ gate, clock, windowSeconds: 60, schedule: () => () => undefined });
  const counted = () => gate.categories().map(({ index, name }) => [name, gate.callsTotal(index)] as const);
  const history = new CallHistory({ counted, clock });
  const isolation = createIsolation(config.tenancy);
  const store = isolation.storeFor(options.store ?? createMemoryStore());
  // Nothing of a test's debug output goes to its console.
  const telemetry = createTelemetry();
  const work = new WorkFollower(gate.work);
  const selection = { clock, instanceId, work, random: Math.random };
  const sink = sinkOf({ telemetry, clock, writeLine: () => undefined, selection });
  const reports: unknown[] = [];
  const report = (error: unknown) => void reports.push(error);
  const { authenticator, tokens } = openAuthentication(config.security, {
    clock,
    cwd: tmpdir(),
    report,
    tokenStore: store.records,
  });
  const never = () => () => undefined;
  const trail = createAuditTrail({
    store,
    telemetry,
    clock,
    schedule: never,
    chain: { securityLevel: 'basic', instanceId, retentionDays: config.audit.retentionDays },
    randomUUID,
    report,
  });
  const plane = new ControlPlane({
    gate,
    store,
    audit: trail,
    sink,
    clock,
    delay: unrefTimeout,
    limits: {
      defaultDuration: config.controls.defaultDuration,
      maxDuration: config.controls.maxDuration,
      maxTemporary: config.controls.maxTemporaryPerTenant,
      maxCategories: config.limits.maxCategories,
    },
    overrides: config.categories,
    recorded: config.recorder.categories,
    isolation,
    countsTenants: isolation.separatesMetrics,
    report,
  });
  await plane.start();
  t.after(async () => {
    authenticator.close();
    measurements.close();
    await plane.close();
    await trail.close();
    await store.close();
  });

  const self = () => ({ id: instanceId, host: 'localhost', pid: process.pid, service: 'test', startedAt: 0 });
  const relay = new Relay({
    whileChosen: (_choice, begin) => begin(),
    gate,
    addTap: sink.addTap,
    recorder: sink.recorder,
    past: sink.recorder.past,
    service: () => self().service,
    work,
    budgetOf: sink.budgets.configured,
    messages: store.messages,
    tails: config.tail !== false,
    instanceId,
    clock,
    schedule: unrefInterval,
    random: Math.random,
    randomUUID,
  });
  t.after(() => relay.close());
  const streams = new OpenStreams();
  const authFailures: (readonly [string, string])[] = [];
  const controlRequests: (readonly [string, string])[] = [];
  const closing = new AbortController();
  const parts: EndpointParts = {
    config,
    plane,
    trail,
    approvals: new Approvals({ store, trail, clock, randomUUID }),
    authenticator,
    tokens,
    fleet: undefined,
    choosing: new Choosing({ self, fleet: undefined, schedule: never }),
    relay,
    streams,
    checkStore: options.checkStore ?? (() => store.check()),
    sourceOf: () => undefined,
    hasNamed: (tenantId) => gate.hasNamed(tenantId),
    namedTenants: gate.namedTenants,
    budgets: {
      ...sink.budgets,
      linesOf: ({ index }) => ({ ...NO_LINES, dropped: index === undefined ? 0 : gate.droppedTotal(index) }),
    },
    recorded: () => new Map(gate.categories().map(({ name }) => [name, sink.recorder.isRecorded(name)])),
    reach: () => ({ since: undefined, works: 0, bytes: 0 }),
    outputs: sink.outputs,
    measurements: addCalls(measurements),
    history,
    service: () => self().service,
    instruments: {
      authFailure: (method, reason) => void authFailures.push([method, reason]),
      controlRequest: (action, outcome) => void controlRequests.push([action, outcome]),
    },
    isolation,
    conditions: { watch: () => UNWATCHED, holding: [] },
    shared: () => undefined,
    notifications: () => [],
    closing: closing.signal,
    randomUUID,
    report,
    fault: report,
    clock,
    schedule: unrefInterval,
    delay: unrefTimeout,
  };
  const entrance = new Entrance();
  entrance.serve(deferApp({ ...parts, ...options.wrap?.(parts) }));
  await entrance.load();
  return {
    handler: entrance.handler,
    config,
    gate,
    plane,
    reports,
    authFailures,
    controlRequests,
    streams,
    record(category) {
      gate.category(category);
      const recorded = gate.categories().find(({ name }) => name === category)!;
      sink.setRecorded(recorded, true);
      t.after(() => sink.setRecorded(recorded, false));
    },
    startClosing: () => {
      closing.abort();
    },
  };
}

/** The part with some members put in front of it; the others are its own. */
export function withMembers<T extends object>(part: T, members: Partial<T>): T {
  return new Proxy(part, {
    get: (target, name) => {
      const value: unknown = name in members ? Reflect.get(members, name) : Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export interface TestRequest {
  readonly method?: string;
  /** The credential to send. */
  readonly key?: KeyName;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: unknown;
}

export interface TestAnswer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; `undefined` where there is none. */
  readonly body: T;
}

/** Sends a request and reads its answer. The type of the body is the caller's claim, which its assertions check. */
export async function send<T = ErrorResponse>(url: string, request: TestRequest = {}): Promise<TestAnswer<T>> {
  const { method = 'GET', key, headers, body } = request;
  const isText = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    headers: {
      ...(key !== undefined && { 'X-RDCP-API-Key': KEYS[key] }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isText ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (text === '' ? undefined : JSON.parse(text)) as T,
  };
}

/** The client of a server, with one of its keys. */
export const clientOf = (
  { url: baseUrl }: { readonly url: string },
  key: KeyName = 'admin',
  options: Omit<Parameters<typeof createRdcpClient>[0], 'baseUrl'> = {},
) => createRdcpClient({ baseUrl, apiKey: KEYS[key], ...options });

export interface TestServer extends TestApp {
  readonly url: string;
  request<T = ErrorResponse>(path: string, request?: TestRequest): Promise<TestAnswer<T>>;
  close(): Promise<void>;
}

/** The endpoint on the real parts, on a port of its own. */
export async function startServer(t: TestContext, options: TestServerOptions = {}): Promise<TestServer> {
  const app = await assembleApp(t, {
    ...options,
    config: { ...options.config, server: { port: 0, ...options.config?.server } },
  });
  if (app.config.server === false) throw new Error('a test server listens');
  const { maxConnections: total, maxConnectionsPerAddress: perAddress } = app.config.limits;
  const listener = createListener(app.config.server, app.handler, {
    places: { total, perAddress },
    ...options.listener,
  });
  const { url } = await listener.listen();
  t.after(() => listener.close());
  return { ...app, url, request: (path, request) => send(url + path, request), close: () => listener.close() };
}
