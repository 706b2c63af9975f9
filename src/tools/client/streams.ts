import { FAILURES_MS, PATHS } from '../../wire/constants.ts';
import { RdcpError } from '../../wire/errors.ts';
import type {
  FailuresRequest,
  FailuresResponse,
  ForecastRequest,
  ForecastResponse,
  StateEvent,
  TailBody,
  TailEvent,
} from '../../wire/streams.ts';
import { parseDuration } from '../../wire/time.ts';
import type { RequestOptions, StreamTransport, Transport } from './transport.ts';

/** Lines and duration of a tail. */
export interface TailRequest extends Pick<RequestOptions, 'signal' | 'requestId'>, Omit<TailBody, 'categories'> {}

/** Start of a stream of events. */
export interface EventsRequest extends Pick<RequestOptions, 'signal' | 'requestId'> {
  /** `id` of the last event received: events follow from there, without a snapshot if nothing was missed. */
  readonly lastEventId?: string;
}

/** The default duration of a forecast, in seconds. */
const FORECAST_SECONDS = 10;

export function forecast(
  send: Transport,
  categories: string | readonly string[],
  { duration, target, filter, when, ...options }: RequestOptions & Omit<ForecastRequest, 'categories'> = {},
): Promise<ForecastResponse> {
  const body: ForecastRequest = { categories, ...(duration !== undefined && { duration }), target, filter, when };
  const seconds = parseDuration(duration) ?? FORECAST_SECONDS;
  return send<ForecastResponse>({ path: PATHS.forecast, body, extraMs: seconds * 1000 }, options);
}

export function failures(
  send: Transport,
  { categories, since, target, when, limit, ...options }: RequestOptions & FailuresRequest = {},
): Promise<FailuresResponse> {
  const body: FailuresRequest = { categories, since, target, when, limit };
  return send<FailuresResponse>({ path: PATHS.failures, body, extraMs: FAILURES_MS }, options);
}

export async function* tail(
  open: StreamTransport,
  categories: string | readonly string[],
  { signal, requestId, ...given }: TailRequest = {},
): AsyncGenerator<TailEvent, void, undefined> {
  const call = { path: PATHS.tail, ends: 'end', ...parameters({ categories, ...given }) };
  for await (const { event, data } of open(call, request(signal, requestId))) {
    // The first name of `start`, which goes with 1.0.
    if (event !== 'open') yield { event, data: parsed(data, requestId) } as TailEvent;
  }
}

/** A tail without target, filter and outcome is asked for as releases before them understand it. */
function parameters({ categories, target, filter, when, ...given }: TailBody) {
  if ((target ?? filter ?? when) !== undefined) return { body: { categories, target, filter, when, ...given } };
  const query = new URLSearchParams({ categories: [categories].flat().join(',') });
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, String(value));
  return { query };
}

export async function* events(
  open: StreamTransport,
  { signal, requestId, lastEventId }: EventsRequest = {},
): AsyncGenerator<StateEvent, void, undefined> {
  const headers: Record<string, string> = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
  for await (const { event, data, id } of open({ path: PATHS.events, headers }, request(signal, requestId))) {
    yield { event, data: parsed(data, requestId), ...(id !== undefined && { id }) } as StateEvent;
  }
}

function parsed(data: string, requestId: string | undefined): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    const details = requestId === undefined ? {} : { requestId };
    throw new RdcpError('RDCP_VERSION_UNSUPPORTED', 'The server sent an event that is not JSON', { details, cause });
  }
}

function request(signal: AbortSignal | undefined, requestId: string | undefined): RequestOptions {
  return { ...(signal && { signal }), ...(requestId !== undefined && { requestId }) };
}
