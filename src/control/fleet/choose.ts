import { hash } from 'node:crypto';
import type { Instance } from '../../store/fleet.ts';
import type { Choice } from '../../wire/target.ts';

/** What is known of a process that may be chosen. */
export type Candidate = Pick<Instance, 'id' | 'host' | 'pid' | 'version'>;

/**
 * The ids of the chosen processes. Every process computes the same from the same candidates, by rendezvous hashing: when a
 * process ends, the next in line takes its place and the others stay chosen (https://en.wikipedia.org/wiki/Rendezvous_hashing).
 * @param spare how many of the next in line to return as well
 */
export function choose(
  { id: choice, instances = {} }: Choice,
  candidates: readonly Candidate[],
  spare = 0,
): readonly string[] {
  const { ids, version, count, percent = 100 } = instances;
  const meant = candidates
    .filter(({ id, host, pid }) => ids === undefined || ids.includes(id) || ids.includes(`${host}:${pid}`))
    .filter((candidate) => version === undefined || candidate.version === version)
    .map(({ id }) => id);
  const number = spare + (count ?? Math.max(1, Math.round((meant.length * percent) / 100)));
  if (number >= meant.length) return meant;
  return meant
    .map((id) => ({ id, rank: hash('sha256', `${choice} ${id}`) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, number)
    .map(({ id }) => id);
}
