import type { CountedPart } from '../call-counts.ts';
import { type Level, TICKET_ATTRIBUTE } from '../constants.ts';
import type { DiscoveredActivation } from '../messages.ts';
import { nameSome } from '../printable.ts';
import type { Instances, Match, When } from '../target.ts';
import { levelText } from './level.ts';

type Part = Pick<DiscoveredActivation, 'tenant' | 'target' | 'filter' | 'when' | 'level'>;

/** Such as `user.id=42`, `acme, where rows > 1000`, `one request, one process`, `failures`. Values that a reader may not see are hidden. */
export function partText({ tenant, target, filter, when, level }: Part): string {
  const { where, text, sample } = filter ?? {};
  return [
    ...(when === undefined ? [] : [whenText(when, ', ')]),
    ...(tenant === undefined ? [] : [tenant]),
    ...(target?.request === true ? ['one request'] : []),
    ...Object.entries(target?.match ?? {}).map(
      ([name, value]) => `${name}=${value.startsWith('hmac:') ? '(hidden)' : value}`,
    ),
    ...(target?.instances === undefined ? [] : [instancesText(target.instances)]),
    ...(where === undefined ? [] : [`where ${where}`]),
    ...(text === undefined ? [] : [`text ${text}`]),
    ...(sample === undefined ? [] : [`${Number((sample * 100).toPrecision(3))} %`]),
    ...(level === undefined ? [] : [levelText(level)]),
  ].join(', ');
}

interface Described extends Pick<CountedPart, 'target' | 'filter' | 'when'> {
  readonly record?: true | undefined;
  readonly level?: Level | undefined;
}

interface ShownParts {
  /** Whether the values of attributes are shown; they may be personal data. */
  readonly values: boolean;
}

/** Such as `ORDERS on for work with user.id=42 in one process`, `recording ORDERS`. @param state of the categories, such as `on` */
export function activationText(
  activation: Described & Pick<DiscoveredActivation, 'categories'>,
  { values, state }: ShownParts & { readonly state?: string },
): string {
  const { categories, when } = activation;
  const names = nameSome(categories);
  const recorded = when === undefined ? names : `${whenText(when)} of ${names}`;
  const what = isRecording(activation) ? [`recording ${recorded}`] : [names, state];
  return `${what.filter((each) => each !== undefined).join(' ')}${workText(activation, { values })}`;
}

/** Whether its lines wait in memory, instead of being written at once. */
export function isRecording({ when, record }: Pick<Described, 'when' | 'record'>): boolean {
  return when !== undefined || record === true;
}

/** A part of the work behind what is done with it: ` for work with user.id=42 in one process, filtered by where`; empty for all. */
export function workText({ target, filter, level }: Described, shown: ShownParts): string {
  const work = matchText(target?.match, shown);
  const processes = instancesText(target?.instances);
  return [
    work === '' ? '' : ` for work with ${work}`,
    processes === '' ? '' : ` in ${processes}`,
    filter === undefined ? '' : `, filtered by ${Object.keys(filter).join(', ')}`,
    level === undefined ? '' : `, ${levelText(level)}`,
  ].join('');
}

/** Attributes of work, such as `user.id=42`. The value of a ticket is a hash, and never shown. */
export function matchText(match: Match = {}, { values }: ShownParts = { values: true }): string {
  return Object.entries(match)
    .map(([name, value]) => (name === TICKET_ATTRIBUTE ? 'the ticket' : values ? `${name}=${value}` : name))
    .join(' and ');
}

/** Which processes, in words: `vm:4205`, `version 1.4.2, one process`; empty for all. */
export function instancesText({ ids = [], version, count, percent }: Instances = {}): string {
  return [
    ...ids,
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(count === undefined ? [] : [count === 1 ? 'one process' : `${count} processes`]),
    ...(percent === undefined ? [] : [`${percent} % of the processes`]),
  ].join(', ');
}

/** Which work is meant, in words: `failures and work slower than 2s`. */
export function whenText({ failed, slowerThan }: When, between = ' and '): string {
  return [
    ...(failed === true ? ['failures'] : []),
    ...(slowerThan === undefined ? [] : [`work slower than ${slowerThan}`]),
  ].join(between);
}
