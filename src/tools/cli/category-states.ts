import { setTimeout as sleep } from 'node:timers/promises';
import { isCounted } from '../../wire/counted-calls.ts';
import { isRdcpError, type RdcpError } from '../../wire/errors.ts';
import type { CountedInstances, DiscoveredCategory } from '../../wire/messages.ts';
import { type Categories, categoriesAfter } from '../client/categories-after.ts';
import type { RdcpClient } from '../client/client.ts';
import { askedForMs, isPassing } from '../client/passing.ts';

const PAUSE_MS = 1000;

type Client = Pick<RdcpClient, 'discovery' | 'events'>;

export interface CategoryStates {
  readonly categories: readonly DiscoveredCategory[];
  readonly instances?: CountedInstances | undefined;
  /** Names of those that came on so recently that their rate is not measured yet. @default none */
  readonly unmeasured?: ReadonlySet<string> | undefined;
}

export interface Following {
  readonly signal: AbortSignal;
  readonly lost: (error: RdcpError) => void;
}

/** Follows the state by the service's event stream; by polling where it has none, or no free one. @throws the first error, if nothing came before */
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
      if (!received || !isPassing(error)) throw error;
      lost(error);
      await sleep(Math.max(PAUSE_MS, askedForMs(error, Date.now()) ?? 0), undefined, { signal });
    }
  }
}

/** Events of rates before that of a category which has just come on is measured, in a fleet too. */
const ROUNDS = 3;

/** The service has no stream, or all are taken. */
const NO_STREAM: ReadonlySet<string> = new Set([
  'RDCP_NOT_FOUND',
  'RDCP_MEDIA_NOT_ACCEPTABLE',
  'RDCP_VERSION_UNSUPPORTED',
  'RDCP_RATE_LIMITED',
]);
async function* asked(client: Client, signal: AbortSignal): AsyncGenerator<CategoryStates, void> {
  for (;;) {
    const { categories, otelrdcp_instances: instances } = await client.discovery({ signal });
    yield { categories, instances };
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function* followed(client: Client, signal: AbortSignal): AsyncGenerator<CategoryStates, void> {
  let known: Categories | undefined;
  let instances: CountedInstances | undefined;
  let rounds = 0;
  /** The round in which its rate will be measured, by name. */
  const measuredIn = new Map<string, number>();
  for await (const received of client.events({ signal })) {
    const { event, data } = received;
    if (event === 'snapshot') instances = data.otelrdcp_instances;
    const before = known;
    if (event === 'rates') {
      instances = data.instances;
      rounds += 1;
      // The first one of a stream has nothing to compare with: the figures of the snapshot stay.
      if (rounds > 1) known = withRates(known, data.categories);
    } else known = categoriesAfter(known, received);
    if (event === 'category' && isCounted(data) && !isCounted(before?.get(data.name) ?? { enabled: false })) {
      measuredIn.set(data.name, rounds + ROUNDS);
    }
    if (known === undefined || known === before) continue;
    const unmeasured = new Set([...measuredIn].filter(([, round]) => round > rounds).map(([name]) => name));
    yield { categories: [...known.values()], instances, unmeasured };
  }
}

function withRates(known: Categories = new Map(), rates: Readonly<Record<string, number>>): Categories {
  const rated = [...known].map(([name, category]) => {
    const metrics = { ...category.metrics, callsPerSecond: rates[name] ?? 0 };
    return [name, { ...category, metrics }] as const;
  });
  return new Map(rated);
}
