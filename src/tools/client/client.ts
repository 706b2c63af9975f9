import type { AuditEntry, AuditResponse } from '../../wire/audit-messages.ts';
import { CONSOLE_PATHS, type ControlAction, FAILURES_MS, PATHS } from '../../wire/constants.ts';
import type { CategorySelection, ControlCommand, ControlOptions } from '../../wire/control-options.ts';
import { isRdcpError } from '../../wire/errors.ts';
import { given } from '../../wire/json-text.ts';
import type {
  ApprovalsResponse,
  ConsoleCodeResponse,
  ControlResponse,
  DiscoveryResponse,
  FleetResponse,
  HealthResponse,
  MetricsResponse,
  NotificationsResponse,
  SessionResponse,
  StatusResponse,
  TenantsResponse,
  WellKnownDocument,
} from '../../wire/messages.ts';
import type {
  FailuresRequest,
  FailuresResponse,
  ForecastRequest,
  ForecastResponse,
  StateEvent,
  TailEvent,
} from '../../wire/streams.ts';
import { parseDuration } from '../../wire/time.ts';
import { type AuditFilter, auditEntries } from './audit.ts';
import { randomId } from './random-id.ts';
import { RdcpResponseError } from './response-error.ts';
import { type EventsRequest, events, type TailRequest, tail } from './streams.ts';
import { createTokens, type RdcpTokens } from './tokens.ts';
import { createTransport, type RdcpClientOptions, type RequestOptions, type Transport } from './transport.ts';

/**
 * A client for a server's remote control; for that of another implementation of RDCP 1.0 as far as it has the same endpoints.
 * Every method rejects with an {@link RdcpError}: an {@link RdcpResponseError} with the server's code, status and details;
 * `RDCP_UNAVAILABLE` if the server cannot be reached; `RDCP_TIMEOUT` if it does not respond in time;
 * `RDCP_VERSION_UNSUPPORTED` if the response is not RDCP 1.0. Errors of a `token` function and the reason of an aborted signal
 * are passed through unchanged.
 */
export interface RdcpClient {
  /** The server's capabilities and authentication methods. Needs no credential. */
  wellKnown(options?: RequestOptions): Promise<WellKnownDocument>;
  /** The categories with their states and calls. Needs the scope `discovery`. */
  discovery(options?: RequestOptions): Promise<DiscoveryResponse>;
  /**
   * Switches categories. If the connection breaks, the request is retried once with the same request id, so that it takes
   * effect only once. An error whose `details.outcome` is `unknown` says that the change was made, or not: the same command
   * with the `requestId` of the error is answered for good.
   */
  control(command: ControlCommand, options?: RequestOptions): Promise<ControlResponse>;
  /** Switches categories on. Needs the scope `control`, as {@link RdcpClient.control} does. */
  enable(categories: CategorySelection, options?: ControlOptions): Promise<ControlResponse>;
  /** Switches categories off, also those whose default is on. */
  disable(categories: CategorySelection, options?: ControlOptions): Promise<ControlResponse>;
  /** Switches each category to its opposite state. */
  toggle(categories: CategorySelection, options?: ControlOptions): Promise<ControlResponse>;
  /** Removes settings: the categories return to the state that they inherit. @param categories @default every category */
  reset(
    categories?: CategorySelection,
    options?: Pick<ControlOptions, 'reason' | 'otelrdcp_only' | 'otelrdcp_id'>,
  ): Promise<ControlResponse>;
  /** Which categories are on. Needs the scope `status` or `discovery`. */
  status(options?: RequestOptions): Promise<StatusResponse>;
  /** Also resolves for an unhealthy server; see `status`. */
  health(options?: RequestOptions): Promise<HealthResponse>;
  /** Measurements of the process and of the calls. Needs the scope `discovery`. */
  metrics(options?: RequestOptions): Promise<MetricsResponse>;
  /** The tenants, and what is on for each. Needs the scope `admin`; that of a tenant sees itself. */
  tenants(options?: RequestOptions): Promise<TenantsResponse>;
  /** One page of the audit trail, newest first. */
  audit(filter?: AuditFilter, options?: RequestOptions): Promise<AuditResponse>;
  /** Every entry that matches, newest first. Pages are fetched as entries are read; `limit` is the page size. */
  auditEntries(
    filter?: AuditFilter,
    options?: Pick<RequestOptions, 'signal'>,
  ): AsyncGenerator<AuditEntry, void, undefined>;
  /** The identity and scopes that the server assigns to this client. */
  session(options?: RequestOptions): Promise<SessionResponse>;
  /** The processes that share a store with the server; `RDCP_NOT_FOUND` of one without a shared store. */
  fleet(options?: RequestOptions): Promise<FleetResponse>;
  /** Where notifications go, and what became of the newest of the answering process. Needs the scope `admin`. */
  notifications(options?: RequestOptions): Promise<NotificationsResponse>;
  /** Changes that wait for an approval, because they go beyond what their credential allows. Needs the scope `admin`. */
  approvals(options?: RequestOptions): Promise<ApprovalsResponse>;
  /** Makes a change that waits. Needs the scope `admin`, and another user than the one who asked for it. */
  approve(id: string, options?: RequestOptions): Promise<ControlResponse>;
  /** Declines a change that waits. The answer is `failed`, unless somebody approved it meanwhile. Needs the scope `admin`. */
  decline(id: string, options?: RequestOptions): Promise<ControlResponse>;
  /** Measures for a while what categories emit, or would emit if they were on, added up over the fleet. No line is emitted. */
  forecast(
    categories: CategorySelection,
    options?: Omit<ForecastRequest, 'categories'> & RequestOptions,
  ): Promise<ForecastResponse>;
  /**
   * Shows the debug lines of categories, from every process of the fleet, to this client alone; nothing is switched. Iterate
   * with `for await`: the iteration returns after the event `end`, and throws when the connection is lost. Leaving the loop,
   * or aborting the signal, ends the tail.
   */
  tail(categories: CategorySelection, options?: TailRequest): AsyncGenerator<TailEvent, void, undefined>;
  /** The newest work that failed or was slow, so far as it was recorded, of every process. */
  failures(request?: FailuresRequest & RequestOptions): Promise<FailuresResponse>;
  /**
   * Follows the state of the server: a snapshot, then every change. Iterate with `for await`; a lost connection throws.
   * Leaving the loop, or aborting the signal, ends it.
   */
  events(options?: EventsRequest): AsyncGenerator<StateEvent, void, undefined>;
  /**
   * Asks for a one-time code for this client's credential, which signs a browser on the server's own machine in to the
   * console: open `rdcp/console/#code=CODE`.
   */
  consoleCode(options?: RequestOptions): Promise<ConsoleCodeResponse>;
  /** Issues, refreshes and revokes tokens. */
  readonly tokens: RdcpTokens;
}

/** The default duration of a forecast, in seconds. */
const FORECAST_SECONDS = 10;

/** @throws {TypeError} if the base URL is not an absolute HTTP URL, or both an API key and a token are given */
export function createRdcpClient(options: RdcpClientOptions): RdcpClient {
  const { send, stream } = createTransport(options);
  const get =
    <T>(path: string) =>
    (request?: RequestOptions) =>
      send<T>({ path }, request);
  const control = (command: ControlCommand, request?: RequestOptions) => sendControl(send, command, request);
  const change = (action: ControlAction) => (categories?: CategorySelection, settings?: ControlOptions) =>
    control({ action, ...given({ categories, options: settings }) });

  return {
    wellKnown: get(PATHS.wellKnown),
    discovery: get(PATHS.discovery),
    control,
    enable: change('enable'),
    disable: change('disable'),
    toggle: change('toggle'),
    reset: change('reset'),
    status: get(PATHS.status),
    health: (request) => send({ path: PATHS.health, answers: [503] }, request),
    metrics: get(PATHS.metrics),
    tenants: get(PATHS.tenants),
    audit: (query = {}, request) => send({ path: PATHS.audit, query }, request),
    auditEntries: (filter = {}, request) => auditEntries(send, filter, request),
    session: get(PATHS.session),
    fleet: get(PATHS.fleet),
    notifications: get(PATHS.notifications),
    approvals: get(PATHS.approvals),
    approve: (id, request) => send({ path: PATHS.approve, body: { id } }, request),
    decline: (id, request) => send({ path: PATHS.approve, body: { id, decline: true } }, request),
    forecast: (categories, { signal, requestId, ...rest } = {}) => {
      const extraMs = (parseDuration(rest.duration) ?? FORECAST_SECONDS) * 1000;
      return send({ path: PATHS.forecast, body: { categories, ...rest }, extraMs }, { signal, requestId });
    },
    tail: (categories, request) => tail(stream, categories, request),
    failures: ({ signal, requestId, ...body } = {}) =>
      send({ path: PATHS.failures, body, extraMs: FAILURES_MS }, { signal, requestId }),
    events: (request) => events(stream, request),
    consoleCode: (request) => send({ path: CONSOLE_PATHS.code, body: {} }, request),
    tokens: createTokens(send, options),
  };
}

/** The retry is safe because the server deduplicates by request id (RDCP 1.0, Limits: deduplication window). */
async function sendControl(
  send: Transport,
  command: ControlCommand,
  { requestId = randomId(), signal }: RequestOptions = {},
): Promise<ControlResponse> {
  const call = { path: PATHS.control, body: command };
  const options = { requestId, signal };
  try {
    return await send<ControlResponse>(call, options);
  } catch (error) {
    const isBroken = isRdcpError(error) && error.code === 'RDCP_UNAVAILABLE' && !(error instanceof RdcpResponseError);
    if (!isBroken) throw error;
    return send<ControlResponse>(call, options);
  }
}
