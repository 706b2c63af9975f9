import { isRdcpError } from '../errors.ts';
import { type ControlAction, PATHS } from '../protocol/constants.ts';
import type {
  AuditEntry,
  AuditResponse,
  ControlBudget,
  ControlResponse,
  DiscoveryResponse,
  FleetResponse,
  HealthResponse,
  MetricsResponse,
  SessionResponse,
  StatusResponse,
  TenantsResponse,
  WellKnownDocument,
} from '../protocol/messages.ts';
import { type AuditFilter, auditEntries, fetchAudit } from './audit.ts';
import { RdcpResponseError } from './response-error.ts';
import { createTokens, type RdcpTokens } from './tokens.ts';
import { createTransport, type RdcpClientOptions, type RequestOptions, type Transport } from './transport.ts';

/** One category, or several. */
export type CategorySelection = string | readonly string[];

export interface ControlOptions {
  /** Makes the change end by itself. @default true when there is a duration */
  readonly temporary?: boolean;
  /** Seconds, or `<n>s|m|h|d`. @default the server's, for a temporary change */
  readonly duration?: number | string;
  /** Why, for the audit trail: 1 to 500 characters. */
  readonly reason?: string;
  /**
   * What each category may emit in a process, over what is configured there; the change ends by itself, and before its time
   * when `calls` or `bytes` are used up. More calls a second than configured, or `false` (any number), need the scope
   * `admin`. An addition of this implementation. @default what the server is configured with
   */
  readonly otelrdcp_budget?: ControlBudget | false;
}

/** The body of a control request (RDCP 1.0, POST /rdcp/v1/control). */
export interface ControlCommand {
  readonly action: ControlAction;
  /** May be left out for `reset` and `status`, where that means every category. */
  readonly categories?: CategorySelection;
  readonly options?: ControlOptions;
}

/**
 * A server's remote control. Every method rejects with an {@link RdcpError}: with the server's code, status and details
 * (see {@link RdcpResponseError}), `RDCP_UNAVAILABLE` when it cannot be reached, `RDCP_TIMEOUT` when it does not answer
 * in time, `RDCP_VERSION_UNSUPPORTED` when what answers does not speak this protocol. What a `token` function throws, and
 * the reason of an aborted signal, come through as they are.
 */
export interface RdcpClient {
  /** What the server is and asks for; needs no credential. */
  wellKnown(options?: RequestOptions): Promise<WellKnownDocument>;
  discovery(options?: RequestOptions): Promise<DiscoveryResponse>;
  /**
   * Switches categories. When the connection breaks the request is sent once more with the same request id, so that it
   * takes effect once.
   */
  control(command: ControlCommand, options?: RequestOptions): Promise<ControlResponse>;
  enable(categories: CategorySelection, options?: ControlOptions): Promise<ControlResponse>;
  disable(categories: CategorySelection, options?: ControlOptions): Promise<ControlResponse>;
  toggle(categories: CategorySelection, options?: ControlOptions): Promise<ControlResponse>;
  /** Drops what was set: the categories return to what they inherit. Without categories: all of them. */
  reset(categories?: CategorySelection, options?: Pick<ControlOptions, 'reason'>): Promise<ControlResponse>;
  status(options?: RequestOptions): Promise<StatusResponse>;
  /** Resolves for an unhealthy server too: `status` says so. */
  health(options?: RequestOptions): Promise<HealthResponse>;
  metrics(options?: RequestOptions): Promise<MetricsResponse>;
  tenants(options?: RequestOptions): Promise<TenantsResponse>;
  /** One page of the audit trail, newest first. */
  audit(filter?: AuditFilter, options?: RequestOptions): Promise<AuditResponse>;
  /** Every entry that fits, newest first, fetched page by page as they are read; `limit` is the size of a page. */
  auditEntries(
    filter?: AuditFilter,
    options?: Pick<RequestOptions, 'signal'>,
  ): AsyncGenerator<AuditEntry, void, undefined>;
  /** Whom the server takes this client for. */
  session(options?: RequestOptions): Promise<SessionResponse>;
  /**
   * The processes that share their state with the one that answers. An addition of this implementation: a server of another,
   * or one that shares its state with no process, answers `RDCP_NOT_FOUND`.
   */
  fleet(options?: RequestOptions): Promise<FleetResponse>;
  readonly tokens: RdcpTokens;
}

/** @throws {TypeError} when the base URL is no absolute HTTP URL, or both an API key and a token are given */
export function createRdcpClient(options: RdcpClientOptions): RdcpClient {
  const send = createTransport(options);
  const get =
    <T>(path: string) =>
    (request?: RequestOptions) =>
      send<T>({ path }, request);
  const control = (command: ControlCommand, request?: RequestOptions) => sendControl(send, command, request);
  const change = (action: ControlAction) => (categories: CategorySelection, settings?: ControlOptions) =>
    control(commandOf(action, categories, settings));

  return {
    wellKnown: get(PATHS.wellKnown),
    discovery: get(PATHS.discovery),
    control,
    enable: change('enable'),
    disable: change('disable'),
    toggle: change('toggle'),
    reset: (categories, settings) => control(commandOf('reset', categories, settings)),
    status: get(PATHS.status),
    health: (request) => send<HealthResponse>({ path: PATHS.health, answers: [503] }, request),
    metrics: get(PATHS.metrics),
    tenants: get(PATHS.tenants),
    audit: (filter = {}, request) => fetchAudit(send, filter, request),
    auditEntries: (filter = {}, request) => auditEntries(send, filter, request),
    session: get(PATHS.session),
    fleet: get(PATHS.fleet),
    tokens: createTokens(send, options),
  };
}

function commandOf(
  action: ControlAction,
  categories: CategorySelection | undefined,
  options: ControlOptions | undefined,
): ControlCommand {
  return {
    action,
    ...(categories === undefined ? {} : { categories }),
    ...(options === undefined ? {} : { options }),
  };
}

/** A repeat is safe only because the server knows the request id again (RDCP 1.0, Limits: deduplication window). */
async function sendControl(
  send: Transport,
  command: ControlCommand,
  { requestId = crypto.randomUUID(), signal }: RequestOptions = {},
): Promise<ControlResponse> {
  const call = { path: PATHS.control, body: command };
  const options = { requestId, ...(signal === undefined ? {} : { signal }) };
  try {
    return await send<ControlResponse>(call, options);
  } catch (error) {
    if (!isBrokenConnection(error)) throw error;
    return send<ControlResponse>(call, options);
  }
}

function isBrokenConnection(error: unknown): boolean {
  return isRdcpError(error) && error.code === 'RDCP_UNAVAILABLE' && !(error instanceof RdcpResponseError);
}
