import { RdcpError } from '../errors.ts';
import { PATHS } from '../protocol/constants.ts';
import type { ForecastRequest, ForecastResponse, StateEvent, TailEvent } from '../protocol/streams.ts';
import { parseDuration } from '../protocol/time.ts';
import type { RequestOptions, StreamTransport, Transport } from './transport.ts';

/** What a tail shows, and for how long. */
export interface TailOptions extends Pick<RequestOptions, 'signal' | 'requestId'> {
  /** Seconds, or `<n>s|m|h|d`. @default '5m' */
  readonly duration?: number | string;
  /** Most lines a second; the rest is dropped, and counted. More than configured needs `admin`. @default the server's, 100 */
  readonly rate?: number;
  /** Ends the tail after this many lines. @default no limit */
  readonly lines?: number;
  /** Whether the lines also go to the service's own outputs, in every process. @default false */
  readonly log?: boolean;
}

/** Where to begin to follow the state. */
export interface EventsOptions extends Pick<RequestOptions, 'signal' | 'requestId'> {
  /** `id` of the last event received: events follow from there, without a snapshot if nothing was missed. */
  readonly lastEventId?: string;
}

/** The default duration of a forecast, in seconds. */
const FORECAST_SECONDS = 10;

export function forecast(
  send: Transport,
  categories: string | readonly string[],
  { duration, ...options }: RequestOptions & Pick<ForecastRequest, 'duration'> = {},
): Promise<ForecastResponse> {
  const body: ForecastRequest = { categories, ...(duration !== undefined && { duration }) };
  const seconds = parseDuration(duration) ?? FORECAST_SECONDS;
  return send<ForecastResponse>({ path: PATHS.forecast, body, extraMs: seconds * 1000 }, options);
}

export async function* tail(
  open: StreamTransport,
  categories: string | readonly string[],
  { signal, requestId, ...given }: TailOptions = {},
): AsyncGenerator<TailEvent, void, undefined> {
  const query = new URLSearchParams({ categories: [categories].flat().join(',') });
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, String(value));
  const call = { path: PATHS.tail, query, ends: 'end' };
  for await (const { event, data } of open(call, request(signal, requestId))) {
    yield { event, data: parsed(data, requestId) } as TailEvent;
  }
}

export async function* events(
  open: StreamTransport,
  { signal, requestId, lastEventId }: EventsOptions = {},
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
