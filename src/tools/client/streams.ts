import { PATHS } from '../../wire/constants.ts';
import type { StateEvent, TailBody, TailEvent } from '../../wire/streams.ts';
import type { RequestOptions, StreamTransport } from './transport.ts';

/** Lines and duration of a tail. */
export interface TailRequest extends Pick<RequestOptions, 'signal' | 'requestId'>, Omit<TailBody, 'categories'> {}

/** Start of a stream of events. */
export interface EventsRequest extends Pick<RequestOptions, 'signal' | 'requestId'> {
  /** `id` of the last event received: events follow from there, without a snapshot if nothing was missed. */
  readonly lastEventId?: string;
}

export async function* tail(
  open: StreamTransport,
  categories: string | readonly string[],
  { signal, requestId, ...given }: TailRequest = {},
): AsyncGenerator<TailEvent, void, undefined> {
  const { target, filter, when } = given;
  // A tail without target, filter and outcome is asked for as releases before them understand it.
  const call =
    (target ?? filter ?? when) === undefined
      ? { query: { categories: [categories].flat().join(','), ...given } }
      : { body: { categories, ...given } };
  for await (const event of open({ path: PATHS.tail, ends: 'end', ...call }, { signal, requestId })) {
    // The first name of `start`, which goes with 1.0.
    if (event.event !== 'open') yield event as TailEvent;
  }
}

export function events(open: StreamTransport, { signal, requestId, lastEventId }: EventsRequest = {}) {
  const received = open({ path: PATHS.events, lastEventId }, { signal, requestId });
  return received as AsyncGenerator<StateEvent, void, undefined>;
}
