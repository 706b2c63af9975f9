import { FAILURES_MS } from '../../wire/constants.ts';
import type { AskedInstances } from '../../wire/streams.ts';
import { takesTenant } from '../emit/selection.ts';
import type { Past, PastWork, PastWorks } from '../recorder/types.ts';
import { type Answer, type Lease, MAX_WORK_TEXT, tapFilterOf } from './fleet-messages.ts';
import { type Gathering, gather } from './forecasts.ts';
import type { Relay } from './relay.ts';
import type { PastRequest, TapFilter } from './types.ts';

/** Most characters of the pieces of work in the answer of a process: well below the longest message. */
const MAX_CHARS = 256 * 1024;
/** Most attributes of a piece of work. */
const MAX_ATTRIBUTES = 16;

export interface FailuresOptions {
  /** What this process has recorded. */
  readonly past: Past;
  /** Name of its service. */
  readonly service: () => string;
  readonly instanceId: string;
  readonly now: () => number;
}

/** Finds the newest pieces of work of this process that failed or were slow. Returns a function that gives them once they are found. */
export function ownFailures(lease: Extract<Lease, { type: 'failures' }>, options: FailuresOptions) {
  const { past, service, instanceId: instance, now } = options;
  const { id, categories, since, limit, all } = lease;
  const asked = new Set(categories);
  const began = now();
  let answer: Answer<'failed'> | undefined;
  const found = ({ works: kept, more }: PastWorks): Answer<'failed'> => {
    const works = kept.map((work) => within(work, asked)).filter(({ lines }) => all || Object.keys(lines).length > 0);
    const sent = sendable(works);
    const { since: reached } = past.reach;
    return {
      type: 'failed',
      id,
      instance,
      service: service().slice(0, MAX_WORK_TEXT),
      works: sent,
      more: more || sent.length < works.length,
      ...(reached !== undefined && { reach: Math.max(0, (began - reached) / 1000) }),
    };
  };
  past.works({ ...tapFilterOf(lease), categories: all ? [] : categories, since: began - since * 1000, limit }).then(
    (works) => {
      answer = found(works);
    },
    // As a process that does not answer.
    () => undefined,
  );
  return () => answer;
}

/** The piece of work with its lines of some categories, and with texts that a message has room for. */
function within({ lines, attributes, outcome, ...work }: PastWork, categories: ReadonlySet<string>) {
  const cut = (text: string) => text.slice(0, MAX_WORK_TEXT).toWellFormed();
  const given = Object.entries(attributes).slice(0, MAX_ATTRIBUTES);
  return {
    ...work,
    outcome: cut(outcome),
    attributes: Object.fromEntries(given.map(([name, value]) => [cut(name), cut(value)])),
    lines: Object.fromEntries(Object.entries(lines).filter(([name]) => categories.has(name))),
  };
}

/** The newest that a message has room for. */
function sendable<T>(works: readonly T[]): T[] {
  let left = MAX_CHARS;
  return works.filter((work) => {
    left -= JSON.stringify(work).length;
    return left >= 0;
  });
}

/** A piece of work that failed or was slow, and the process that did it. */
export interface Failure extends PastWork {
  readonly service: string;
  readonly instance: string;
}

export interface FoundFailures {
  readonly instances: AskedInstances;
  /** The newest first. */
  readonly failures: readonly Failure[];
  /** Whether there are older ones. */
  readonly more: boolean;
  /** How far back all processes that answered reach, in seconds; `undefined` where none keeps anything. */
  readonly reach: number | undefined;
}

/**
 * Asks every process of the fleet.
 * @throws the signal's reason when it aborts
 */
export async function findFailures(
  relay: Relay,
  filter: TapFilter,
  request: PastRequest,
  gathering: Omit<Gathering, 'milliseconds' | 'graceMs'>,
): Promise<FoundFailures> {
  const answers = await gather(relay.failures(filter, request), {
    ...gathering,
    milliseconds: 0,
    graceMs: FAILURES_MS,
  });
  const all = answers
    .flatMap(({ works, instance, service }) => works.map((work) => ({ ...work, service, instance })))
    // As with lines: another tenant's must not pass even if a process did not filter.
    .filter(({ tenant }) => takesTenant(filter, tenant))
    .sort((one, other) => other.at - one.at);
  const reaches = answers.flatMap(({ reach }) => reach ?? []);
  return {
    instances: { asked: Math.max(gathering.processes, answers.length), answered: answers.length },
    failures: all.slice(0, request.limit),
    more: all.length > request.limit || answers.some(({ more }) => more),
    reach: reaches.length === 0 ? undefined : Math.min(...reaches),
  };
}
