import { setTimeout as sleep } from 'node:timers/promises';
import { isRdcpError } from '../../wire/errors.ts';
import type { FleetCalls, FleetMember, FleetResponse } from '../../wire/messages.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { silentText } from '../../wire/words/change.ts';
import type { RdcpClient } from '../client/client.ts';
import { isPassing } from '../client/passing.ts';
import { RdcpResponseError } from '../client/response-error.ts';
import { localClock } from './local-time.ts';
import type { Terminal } from './terminal.ts';

/** Names a process as `host:pid`, with since when one is not heard of; by id where the service does not list them. Safe to print. */
export async function processNames(
  client: Pick<RdcpClient, 'fleet'>,
  ids: readonly string[],
  now: number,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { instances = [], lost = [] }: Partial<FleetResponse> = (await client.fleet().catch(() => undefined)) ?? {};
  const names = new Map(instances.map(({ id, host, pid }) => [id, `${host}:${pid}`]));
  for (const member of lost) names.set(member.id, silentName(member, now));
  return ids.map((id) => escapeUnprintable(names.get(id) ?? id));
}

function silentName({ host, pid, lastSeenAt }: FleetMember, now: number): string {
  return silentText(`${host}:${pid}`, lastSeenAt, (at) => localClock(at, now));
}

/** Which fleet an answer is of, where the answers of several services are shown together; `undefined` if it is alone. */
export async function fleetOf(
  { merges }: Pick<Terminal, 'merges'>,
  client: Pick<RdcpClient, 'fleet'>,
  { otelrdcp_instances: instances }: FleetCalls,
): Promise<string | undefined> {
  if (merges !== true || (instances?.of ?? 1) < 2) return undefined;
  const fleet = await client.fleet().catch(() => undefined);
  // Ids are unique, and the same for all that ask.
  return fleet?.instances.map(({ id }) => id).sort()[0];
}

const REFRESH_MS = 10_000;
/** How often, and in which interval in milliseconds, the fleet is asked for a process that it does not list yet. */
const LISTED_TRIES = 25;
const LISTED_MS = 200;

/** The processes of a tail as people know them, `host:pid`, where the service lists its fleet. */
export class ProcessNames {
  readonly #client: Pick<RdcpClient, 'fleet'>;
  readonly #signal: AbortSignal;
  readonly #members = new Map<string, FleetMember>();
  #silent: readonly FleetMember[] = [];
  #askedAt = Number.POSITIVE_INFINITY;
  /** Whether the service lists its fleet. */
  areListed = true;
  /** Whether the service shares its state with no other process, so that all lines come from one. */
  isOne = false;

  constructor(client: Pick<RdcpClient, 'fleet'>, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  isDue(now: number): boolean {
    return this.areListed && now - this.#askedAt >= REFRESH_MS;
  }

  nameOf(id: string): string {
    const member = this.#members.get(id);
    return member === undefined ? id.slice(0, 8) : `${member.host}:${member.pid}`;
  }

  /** Those that were not heard of when the fleet was asked last, with since when. */
  silent(now: number): readonly string[] {
    return this.#silent.map((member) => silentName(member, now));
  }

  /** `undefined` where the service does not list its fleet, or the process not yet. */
  serviceOf(id: string): string | undefined {
    return this.#members.get(id)?.service;
  }

  /** Waits five seconds at most for a process that has just started to be listed, so that its service is known. */
  async listed(id: string, now: () => number): Promise<void> {
    for (let tries = 0; tries < LISTED_TRIES && this.areListed && !this.#members.has(id); tries += 1) {
      await sleep(LISTED_MS, undefined, { signal: this.#signal });
      await this.refresh(now());
    }
  }

  /** @returns whether the service cannot reach its store, so that lines of other processes are missing */
  async refresh(now: number): Promise<boolean> {
    if (!this.areListed) return false;
    this.#askedAt = now;
    try {
      const { instances, lost = [] } = await this.#client.fleet({ signal: this.#signal });
      this.#silent = lost;
      for (const member of instances) this.#members.set(member.id, member);
      return false;
    } catch (error) {
      if (this.#signal.aborted) return false;
      const isOutage = error instanceof RdcpResponseError && error.code === 'RDCP_UNAVAILABLE';
      // Without a shared store there is no list, and the credential may not be allowed to see it.
      this.areListed = isPassing(error);
      this.isOne = isRdcpError(error) && error.code === 'RDCP_NOT_FOUND';
      return isOutage;
    }
  }
}
