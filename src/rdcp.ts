import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import { adoptOptions } from './adopt/options.ts';
import { processAdoption } from './adopt/process.ts';
import { afterStart } from './after-start.ts';
import { credentialsDraft } from './audit/credentials.ts';
import { hasCredentials } from './auth/configured.ts';
import { assertLevel } from './auth/levels.ts';
import { systemClock, unrefInterval, unrefTimeout } from './clock.ts';
import { type Closable, closeInOrder, diagnose } from './closing.ts';
import { ClusteredControl } from './clustered-control.ts';
import { createConditions } from './conditions.ts';
import { parseConfig, type ResolvedConfig } from './config.ts';
import { budgetsOf } from './emit/budgets.ts';
import { createSink } from './emit/sink.ts';
import { configurationError, isRdcpError, RdcpError } from './errors.ts';
import { describeInstance } from './fleet/instance.ts';
import { gate } from './gate/gate.ts';
import type { Category, CategoryOptions } from './gate/types.ts';
import { isLoopback } from './hosts.ts';
import { createNotifier, type Notifier, type NotifierOptions } from './notify/notifier.ts';
import type { RdcpConfig } from './options.ts';
import { asOwnWork, markOwnWork, mountedAt } from './own-work.ts';
import type { Emission } from './protocol/emission.ts';
import { createReporter } from './reporter.ts';
import { deferListener, Entrance } from './server/deferred.ts';
import { noteHandshake } from './server/refusals.ts';
import { assertServable, assertTlsFiles } from './server/tls-present.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';
import { createIsolation } from './tenancy/isolation.ts';

/** Handles RDCP requests. Passes any other request unchanged to `next`, or answers 404 without `next`. */
export type RdcpCallback = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;

/** The remote control of a service. It does not listen until `listen()` is called. */
export interface Rdcp {
  /** Returns the debug category of that name. Same as `category()` of `opentelemetry-instrumentation-rdcp/api`. */
  category(name: string, options?: CategoryOptions): Category;
  /** Runs `fn`, including its asynchronous work, in the context of a tenant. */
  runWithTenant<T>(tenantId: string, fn: () => T): T;
  /**
   * Opens the endpoint's port, which does not keep the process alive. May be called again after a failure. In a cluster,
   * `shared` is true if another process listens on that address.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` with `server: false`, or if the address or certificate cannot be used;
   * `RDCP_UNAVAILABLE` after `close()`
   */
  listen(): Promise<{ readonly url: string; readonly shared?: boolean }>;
  /** Returns a request handler to mount in a `node:http`, Koa, Express or Fastify app. */
  callback(): RdcpCallback;
  /** Switches every category off, or back to its setting. The endpoint keeps answering. */
  setEnabled(enabled: boolean): void;
  /** Where debug calls go, and why. Changes when a logger provider is registered later. */
  readonly emission: Emission;
  /** Drains in-flight requests, flushes the audit trail and switches every category off. */
  close(): Promise<void>;
}

/**
 * Puts the service under remote control. Categories start in their default state, until the store has been read.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message is one line that names the field
 */
export function createRdcp(config?: RdcpConfig): Rdcp;
/** @internal */
export function createRdcp(config: RdcpConfig | undefined, options: CreateOptions): Rdcp;
export function createRdcp(
  config?: RdcpConfig,
  { telemetry = createTelemetry(), enabled = true }: CreateOptions = {},
): Rdcp {
  const opened: Closable[] = [];
  try {
    const resolved = parseConfig(config);
    if (adoptOptions(resolved.adopt).channels === true) markOwnWork();
    const rdcp = asOwnWork(() => open(resolved, telemetry, opened));
    rdcp.setEnabled(enabled);
    return rdcp;
  } catch (error) {
    void closeInOrder(opened.reverse());
    throw error;
  }
}

interface CreateOptions {
  readonly telemetry?: Telemetry;
  /** @default true */
  readonly enabled?: boolean;
}

/**
 * Adopts nothing before it is enabled.
 * @param opened collects the parts to close if a later one fails to start
 */
function open(resolved: ResolvedConfig, telemetry: Telemetry, opened: Closable[]): Rdcp {
  const { server, security } = resolved;
  assertLevel(resolved);
  if (server !== false && !hasCredentials(security) && !isLoopback(server.host)) {
    throw configurationError(
      'security.apiKeys',
      `is required to listen on ${server.host}: without a credential only loopback is served`,
    );
  }
  const reporter = createReporter(resolved.logger);
  const conditions = createConditions({
    reporter,
    clock: systemClock,
    delay: unrefTimeout,
    credentialsFailed: (name) => control.current.parts.instruments.credentialFailure(name),
    credentialsChanged: (_name, problem, message) =>
      control.current.parts.trail.note(credentialsDraft(problem, message)),
  });
  opened.push(conditions);
  /** Failed audit writes go to the service's log, other errors to OpenTelemetry's diagnostics. */
  const report = (error: unknown) => {
    if (isRdcpError(error) && error.code === 'RDCP_AUDIT_WRITE_FAILED') reporter.error(error.message);
    else diagnose(error);
  };
  // Refuse forbidden addresses before anything is opened.
  if (server !== false) {
    assertServable(server);
    assertTlsFiles(server);
  }
  const entrance = new Entrance();
  const listener =
    server === false
      ? undefined
      : deferListener(server, entrance.handler, {
          load: () => entrance.load(),
          places: {
            total: resolved.limits.maxConnections,
            perAddress: resolved.limits.maxConnectionsPerAddress,
          },
          conditions,
          refused: (refusal) => noteHandshake(refusal, control.current.parts),
          production: process.env.NODE_ENV === 'production',
        });
  let closing: Promise<void> | undefined;
  const sink = createSink({
    telemetry,
    clock: systemClock,
    to: resolved.emit.to,
    env: process.env,
    reporter,
    condition: conditions.watch('output'),
    delay: unrefTimeout,
    budget: budgetsOf(resolved.controls.budget),
    redact: resolved.emit.redact,
    schedule: unrefInterval,
  });
  opened.push(sink);
  const notifier = openNotifier(resolved, {
    conditions,
    reporter,
    count: (outcome, reason) => control.current.parts.instruments.notification(outcome, reason),
    report,
  });
  const control = new ClusteredControl(
    resolved,
    entrance,
    {
      telemetry,
      sink,
      isolation: createIsolation(resolved.tenancy),
      reporter,
      conditions,
      recorded: notifier?.recorded,
      report,
      sourceOf: (category) => adoption.sourceOf(category),
    },
    opened,
  );
  const adoption = processAdoption(gate);
  const wish = { options: adoptOptions(resolved.adopt), warn: reporter.warn };
  let leaveAdoption: (() => void) | undefined;
  /** Libraries are adopted while the categories follow their settings: otherwise their own settings would be off, too. */
  const setEnabled = (enabled: boolean) => {
    if (!enabled) {
      leaveAdoption?.();
      leaveAdoption = undefined;
    }
    control.setEnabled(enabled);
    if (enabled && closing === undefined) leaveAdoption ??= adoption.join(wish);
  };

  let unmount = () => {};

  return {
    category: (name, options) => gate.category(name, options),
    runWithTenant: (tenantId, fn) => gate.runWithTenant(tenantId, fn),
    get emission() {
      return sink.outputs.emission;
    },
    listen: async () => {
      if (listener === undefined) throw configurationError('server', 'is false: mount callback() instead of listening');
      if (closing !== undefined) throw new RdcpError('RDCP_UNAVAILABLE', 'The remote control is closed');
      const { host, port } = server as Exclude<typeof server, false>;
      return asOwnWork(() => control.listen(`${host}:${port}`, () => listener.listen()));
    },
    callback: () => {
      afterStart(() => entrance.load().catch(report));
      unmount();
      unmount = mountedAt(entrance.isOurs);
      return entrance.handler;
    },
    setEnabled,
    close: () => {
      closing ??= (async () => {
        leaveAdoption?.();
        control.current.parts.streams.close();
        unmount();
        entrance.close();
        await closeInOrder([listener]);
        await control.moving;
        conditions.close();
        await control.close();
        await closeInOrder([sink, notifier]);
      })();
      return closing;
    },
  };
}

function openNotifier(
  { notify, fleet }: ResolvedConfig,
  parts: Pick<NotifierOptions, 'conditions' | 'reporter' | 'count' | 'report'>,
): Notifier | undefined {
  if (notify.webhook === undefined) return undefined;
  const {
    id: _,
    startedAt: __,
    ...source
  } = describeInstance({ id: '', startedAt: 0, host: hostname(), pid: process.pid, env: process.env }, fleet);
  return createNotifier({
    webhooks: [notify.webhook].flat(),
    source,
    clock: systemClock,
    delay: unrefTimeout,
    ...parts,
  });
}
