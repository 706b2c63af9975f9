import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { gate } from './gate/gate.ts';
import type { Category, CategoryOptions } from './gate/types.ts';
import { isLoopback } from './hosts.ts';
import type { RdcpConfig } from './options.ts';
import type { Emission } from './protocol/emission.ts';
import { createReporter } from './reporter.ts';
import { deferListener } from './server/deferred.ts';
import { assertServable } from './server/host-policy.ts';
import { noteHandshake } from './server/refusals.ts';
import { assertTlsFiles } from './server/tls-present.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';
import { createIsolation } from './tenancy/isolation.ts';

/** Handles a request that is ours and passes any other, untouched, to `next`; without `next` it is answered 404. */
export type RdcpCallback = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;

/** A service's remote control: everything wired, nothing listening yet. */
export interface Rdcp {
  /** The debug category of that name; the same as `category()` of the api entry. */
  category(name: string, options?: CategoryOptions): Category;
  /** Runs `fn`, and everything asynchronous in it, as the tenant's. */
  runWithTenant<T>(tenantId: string, fn: () => T): T;
  /**
   * Opens the endpoint's own port, which never keeps the process alive. What failed may be tried again. In a process of a
   * cluster `shared` says that another one answers at that address too, or alone.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` with `server: false`, or when the address or certificate cannot be used;
   * `RDCP_UNAVAILABLE` once closed
   */
  listen(): Promise<{ readonly url: string; readonly shared?: boolean }>;
  /** The endpoint as a request handler, to mount in a `node:http`, Koa, Express or Fastify app. */
  callback(): RdcpCallback;
  /** Switches every category off, or back to what it is set to. The endpoint goes on answering. */
  setEnabled(enabled: boolean): void;
  /** Where debug calls go, and why. Another one when a logger provider is registered later. */
  readonly emission: Emission;
  /** Answers what is in flight, writes the audit trail out, and lets go of the gate: every category is off then. */
  close(): Promise<void>;
}

/**
 * Puts the service under remote control. Categories have their default state at once; what the store holds follows.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, whose message is one line that names the field
 */
export function createRdcp(config?: RdcpConfig): Rdcp;
/** @internal */
export function createRdcp(config: RdcpConfig | undefined, options: { telemetry?: Telemetry }): Rdcp;
export function createRdcp(
  config?: RdcpConfig,
  { telemetry = createTelemetry() }: { telemetry?: Telemetry } = {},
): Rdcp {
  const opened: Closable[] = [];
  try {
    return open(parseConfig(config), telemetry, opened);
  } catch (error) {
    void closeInOrder(opened.reverse());
    throw error;
  }
}

/** @param opened gets every part that must be closed again when a later one cannot be made */
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
  /** What an operator wants to know goes to the log of the service, anything else to OpenTelemetry's diagnostics. */
  const report = (error: unknown) => {
    if (isRdcpError(error) && error.code === 'RDCP_AUDIT_WRITE_FAILED') reporter.error(error.message);
    else diagnose(error);
  };
  // Before anything is opened: it refuses addresses that must not be served.
  if (server !== false) {
    assertServable(server);
    assertTlsFiles(server);
  }
  const listener =
    server === false
      ? undefined
      : deferListener(server, (req, res) => handler(req, res), {
          load: () => control.current.app.load(),
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
  const control = new ClusteredControl(
    resolved,
    {
      telemetry,
      sink,
      isolation: createIsolation(resolved.tenancy),
      reporter,
      conditions,
      report,
      closing: () => closing !== undefined,
    },
    opened,
  );

  const handler: RdcpCallback = (req, res, next) => {
    if (next !== undefined && !control.current.app.isOurs(req)) next();
    else if (control.moving === undefined) control.current.app.handler(req, res, next);
    else void control.moving.then(() => control.current.app.handler(req, res, next));
  };

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
      return control.listen(`${host}:${port}`, () => listener.listen());
    },
    callback: () => {
      afterStart(() => control.current.app.load().catch(report));
      return handler;
    },
    setEnabled: (enabled) => control.setEnabled(enabled),
    close: () => {
      closing ??= (async () => {
        await closeInOrder([listener]);
        await control.moving;
        conditions.close();
        await control.close();
        await closeInOrder([sink]);
      })();
      return closing;
    },
  };
}
