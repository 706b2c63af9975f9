import type { IncomingMessage, ServerResponse } from 'node:http';
import { assertLevel, hasCredentials } from '../access/configured.ts';
import { ensureDevKey, NO_DEV_KEY } from '../access/dev-key.ts';
import type { AcceptedTickets } from '../access/tickets/reader.ts';
import { adoptOptions } from '../adopt/options.ts';
import type { LogExports } from '../calls/emit/log-exports.ts';
import { assertServable, assertTlsFiles } from '../endpoint/tls/present.ts';
import { gate } from '../gate/gate.ts';
import type { Category, CategoryOptions } from '../gate/types.ts';
import { parseConfig, type ResolvedConfig } from '../options/config.ts';
import type { RdcpConfig } from '../options/options.ts';
import { asOwnWork, markOwnWork, mountedAt } from '../otel/own-work.ts';
import { createTelemetry, type Telemetry } from '../otel/telemetry.ts';
import type { Emission } from '../wire/emission.ts';
import { configurationError, RdcpError } from '../wire/errors.ts';
import { isLoopback } from '../wire/net/hosts.ts';
import { afterStart } from '../wire/time/after-start.ts';
import { withDeadline } from '../wire/time/deadline.ts';
import { type Closable, closeInOrder } from './closing.ts';
import { ClusteredControl } from './clustered-control.ts';
import { type OpenTelemetryParts, openProcess } from './process.ts';

/** Handles RDCP requests. Passes any other request unchanged to `next`, or answers 404 without `next`. */
export type RdcpCallback = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;

/** The remote control of a service. It does not listen until `listen()` is called. */
export interface Rdcp {
  /** Returns the debug category of that name. Same as `category()` of `opentelemetry-instrumentation-rdcp/api`. */
  category(name: string, options?: CategoryOptions): Category;
  /** Runs `fn`, including its asynchronous work, in the context of a tenant. */
  runWithTenant<T>(tenantId: string, fn: () => T): T;
  /**
   * Opens the endpoint's port, which does not keep the process alive. By then categories follow their stored settings,
   * unless the store does not answer within 2 seconds. May be called again after a failure. In a cluster,
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

/** How long `listen()` waits for the store, in milliseconds. */
const STORE_MS = 2000;

/**
 * Puts the service under remote control. Categories start in their default state, until the store has been read.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message is one line that names the field
 */
export function createRdcp(config?: RdcpConfig): Rdcp;
/** @internal */
export function createRdcp(config: RdcpConfig | undefined, options: CreateOptions): Rdcp;
export function createRdcp(
  config?: RdcpConfig,
  { telemetry = createTelemetry(), logExports, enabled = true, ticketsOpened = () => {} }: CreateOptions = {},
): Rdcp {
  const opened: Closable[] = [];
  try {
    const resolved = parseConfig(config);
    if (adoptOptions(resolved.adopt).channels === true) markOwnWork();
    const rdcp = asOwnWork(() => open(resolved, { telemetry, logExports }, opened, ticketsOpened));
    rdcp.setEnabled(enabled);
    return rdcp;
  } catch (error) {
    void closeInOrder(opened.reverse());
    throw error;
  }
}

interface CreateOptions {
  readonly telemetry?: Telemetry;
  /** Results of the log exports of the SDK. @default exports are not watched */
  readonly logExports?: LogExports | undefined;
  /** @default true */
  readonly enabled?: boolean;
  /** Called with the tickets of other services, where they are accepted. */
  readonly ticketsOpened?: (tickets: AcceptedTickets) => void;
}

/**
 * Adopts nothing before it is enabled.
 * @param opened collects the parts to close if a later one fails to start
 */
function open(
  resolved: ResolvedConfig,
  otel: OpenTelemetryParts,
  opened: Closable[],
  ticketsOpened: (tickets: AcceptedTickets) => void,
): Rdcp {
  const { server, security } = resolved;
  assertLevel(resolved);
  if (server !== false && !hasCredentials(security) && !isLoopback(server.host)) {
    throw configurationError(
      'security.apiKeys',
      `is required to listen on ${server.host}: without a credential only loopback is served`,
    );
  }
  // Refuse forbidden addresses before anything is opened.
  if (server !== false) {
    assertServable(server);
    assertTlsFiles(server);
  }
  const hasNoKey = !hasCredentials(security) && ensureDevKey() === undefined;
  const host = openProcess(resolved, otel, opened);
  if (host.tickets !== undefined) ticketsOpened(host.tickets);
  const { reporter, adoption, entrance, listener } = host;
  const control = new ClusteredControl(host, opened);
  const wish = {
    options: adoptOptions(resolved.adopt),
    warn: reporter.warn,
    redact: resolved.emit.redact,
    guards: resolved.recorder.guards,
    maxCategories: resolved.limits.maxCategories,
  };
  let closing: Promise<void> | undefined;
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

  const assertOpen = () => {
    if (closing !== undefined) throw new RdcpError('RDCP_UNAVAILABLE', 'The remote control is closed');
  };
  let unmount = () => {};

  return {
    category: (name, options) => gate.category(name, options),
    runWithTenant: (tenantId, fn) => gate.runWithTenant(tenantId, fn),
    get emission() {
      return host.sink.outputs.emission;
    },
    listen: async () => {
      if (server === false || listener === undefined) {
        throw configurationError('server', 'is false: mount callback() instead of listening');
      }
      if (hasNoKey) throw new RdcpError('RDCP_CONFIG_INVALID', NO_DEV_KEY, { details: { field: 'security.apiKeys' } });
      assertOpen();
      return asOwnWork(async () => {
        // Callers that wait for the endpoint find every category as the store has it.
        await withDeadline(control.started, STORE_MS);
        assertOpen();
        return host.cluster.listen('rdcp', `${server.host}:${server.port}`, () => listener.listen());
      });
    },
    callback: () => {
      if (hasNoKey) reporter.warn(`every request is refused: ${NO_DEV_KEY}`);
      afterStart(() => entrance.load().catch((error) => host.fault(error, 'loading the endpoint')));
      unmount();
      unmount = mountedAt(entrance.isOurs);
      return entrance.handler;
    },
    setEnabled,
    close: () => {
      closing ??= (async () => {
        control.leave();
        leaveAdoption?.();
        unmount();
        entrance.close();
        await closeInOrder([listener]);
        await control.close();
        await closeInOrder(host.closables);
      })();
      return closing;
    },
  };
}
