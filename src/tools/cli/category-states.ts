import { setTimeout as sleep } from 'node:timers/promises';
import { isRdcpError, type RdcpError } from '../../wire/errors.ts';
import type { CountedInstances, DiscoveredCategory } from '../../wire/messages.ts';
import type { StateEvent } from '../../wire/streams.ts';
import type { RdcpClient } from '../client/client.ts';

const PAUSE_MS = 1000;

type Client = Pick<RdcpClient, 'discovery' | 'events'>;

export interface CategoryStates {
  readonly categories: readonly DiscoveredCategory[];
  /** Whose calls the figures are; absent without a fleet. */
  readonly instances?: CountedInstances | undefined;
}

export interface Following {
  readonly signal: AbortSignal;
  /** Called with each error while the service does not answer. */
  readonly lost: (error: RdcpError) => void;
}

/**
 * The categories, at every change and at least once a second: from the service's event stream, or by polling where it has
 * no stream, or no free one. Retries while the service restarts.
 * @throws the first error, if nothing was received before
 */
export async function* categoryStates(
  client: Client,
  { signal, lost }: Following,
): AsyncGenerator<CategoryStates, void> {
  let received = false;
  let streams = true;
  for (;;) {
    try {
      for await (const states of streams ? followed(client, signal) : asked(client, signal)) {
        received = true;
        yield states;
      }
    } catch (error) {
      if (!isRdcpError(error)) throw error;
      if (streams && NO_STREAM.has(error.code)) {
        streams = false;
        continue;
      }
      if (!received || !PASSING.has(error.code)) throw error;
      lost(error);
      await sleep(PAUSE_MS * Number(error.headers?.['Retry-After'] ?? 1), undefined, { signal });
    }
  }
}

/** The service has no stream, or all are taken. */
const NO_STREAM: ReadonlySet<string> = new Set([
  'RDCP_NOT_FOUND',
  'RDCP_MEDIA_NOT_ACCEPTABLE',
  'RDCP_VERSION_UNSUPPORTED',
  'RDCP_RATE_LIMITED',
]);
/** Errors of a service that restarts, and of a connection that broke. */
export const PASSING: ReadonlySet<string> = new Set(['RDCP_UNAVAILABLE', 'RDCP_TIMEOUT', 'RDCP_RATE_LIMITED']);

async function* asked(client: Client, signal: AbortSignal): AsyncGenerator<CategoryStates, void> {
  for (;;) {
    const { categories, otelrdcp_instances: instances } = await client.discovery({ signal });
    yield { categories, instances };
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function* followed(client: Client, signal: AbortSignal): AsyncGenerator<CategoryStates, void> {
  const known = new Map<string, DiscoveredCategory>();
  let instances: CountedInstances | undefined;
  for await (const event of client.events({ signal })) {
    if (event.event === 'snapshot') instances = event.data.otelrdcp_instances;
    if (event.event === 'rates') ({ instances } = event.data);
    if (!apply(event, known)) continue;
    yield { categories: [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), instances };
  }
}

const QUIET = { callsTotal: 0, callsPerSecond: 0 };

/** @returns whether something of a category may have changed */
function apply({ event, data }: StateEvent, known: Map<string, DiscoveredCategory>): boolean {
  if (event === 'snapshot') {
    known.clear();
    for (const category of data.categories) known.set(category.name, category);
  } else if (event === 'category') {
    known.set(data.name, { ...data, metrics: known.get(data.name)?.metrics ?? QUIET });
  } else if (event === 'rates') {
    for (const [name, category] of known) {
      const metrics = { ...category.metrics, callsPerSecond: data.categories[name] ?? 0 };
      known.set(name, { ...category, metrics });
    }
  } else return false;
  return true;
}
