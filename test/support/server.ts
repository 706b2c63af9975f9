import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import { type Closable, closeInOrder } from '../../src/assembly/closing.ts';
import { openProcess } from '../../src/assembly/process.ts';
import { openState } from '../../src/assembly/state.ts';
import { createListener, type ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import { deferApp } from '../../src/endpoint/deferred.ts';
import type { EndpointParts } from '../../src/endpoint/parts.ts';
import { GateCore } from '../../src/gate/core.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import { type Clock, systemClock } from '../../src/wire/time/clock.ts';
import { CATEGORIES } from './categories.ts';

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
  readonly listener?: ListenerOptions;
  /** Puts something in front of a part, to make it slow or failing. */
  readonly wrap?: Wrap;
}

export type TestApp = Awaited<ReturnType<typeof assembleApp>>;

/** A service on a gate of its own, listening nowhere. Its lines and its messages to the owner are shown nowhere. */
export async function assembleApp(t: TestContext, options: TestServerOptions = {}) {
  const { clock = systemClock, instanceId = 'test' } = options;
  const silent = () => undefined;
  const config = parseConfig({
    logger: { info: silent, warn: silent, error: silent },
    emit: { to: silent },
    ...options.config,
    limits: { ...GENEROUS, ...options.config?.limits },
    security: { apiKeys: RECORDS, ...options.config?.security },
  });
  const gate = new GateCore();
  for (const name of CATEGORIES) gate.category(name, { description: `${name} in the test` });
  const reports: unknown[] = [];
  const report = (error: unknown) => void reports.push(error);
  const opened: Closable[] = [];
  t.after(() => closeInOrder(opened.toReversed()));
  const host = {
    ...openProcess(config, { telemetry: createTelemetry(), logExports: undefined }, opened, { gate, clock }),
    instance: () => ({ id: instanceId, host: 'localhost', pid: process.pid, service: 'test', startedAt: 0 }),
    report,
    fault: report,
  };
  const { plane, parts, started } = openState(
    host,
    host.isolation.storeFor(options.store ?? createMemoryStore()),
    opened,
  );
  await started;

  const authFailures: (readonly [string, string])[] = [];
  const controlRequests: (readonly [string, string])[] = [];
  const instruments: EndpointParts['instruments'] = {
    authFailure: (method, reason) => void authFailures.push([method, reason]),
    controlRequest: (action, outcome) => void controlRequests.push([action, outcome]),
  };
  host.entrance.serve(deferApp({ ...parts, instruments, ...options.wrap?.(parts) }));
  await host.entrance.load();
  return {
    handler: host.entrance.handler,
    config,
    gate,
    plane,
    /** What the client learned nothing about. */
    reports,
    authFailures,
    controlRequests,
    streams: parts.streams,
    /** Records all calls of a category, as the configuration of an owner may say. */
    record(category: string) {
      gate.category(category);
      const recorded = gate.categories().find(({ name }) => name === category)!;
      host.sink.setRecorded(recorded, true);
      t.after(() => host.sink.setRecorded(recorded, false));
    },
    startClosing: () => host.entrance.close(),
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

export type TestAnswer<T> = Awaited<ReturnType<typeof send<T>>>;

/** Sends a request and reads its answer. The type of the body is the caller's claim, which its assertions check. */
export async function send<T = ErrorResponse>(url: string, request: TestRequest = {}) {
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
    /** The parsed body; `undefined` where there is none. */
    body: (text === '' ? undefined : JSON.parse(text)) as T,
  };
}

/** The client of a server, with one of its keys. */
export const clientOf = (
  { url: baseUrl }: { readonly url: string },
  key: KeyName = 'admin',
  options: Omit<Parameters<typeof createRdcpClient>[0], 'baseUrl'> = {},
) => createRdcpClient({ baseUrl, apiKey: KEYS[key], ...options });

export type TestServer = Awaited<ReturnType<typeof startServer>>;

/** The endpoint on the real parts, on a port of its own. */
export async function startServer(t: TestContext, options: TestServerOptions = {}) {
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
  return {
    ...app,
    url,
    request: <T = ErrorResponse>(path: string, request?: TestRequest) => send<T>(url + path, request),
    close: () => listener.close(),
  };
}
