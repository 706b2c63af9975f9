import type { DiscoveredActivation } from '../messages.ts';
import type { Instances, When } from '../target.ts';
import { levelText } from './level.ts';

type Part = Pick<DiscoveredActivation, 'tenant' | 'target' | 'filter' | 'when' | 'level'>;

/**
 * Whose work, which lines and processes an activation is for: `user.id=42`, `acme, where rows > 1000`, `one request, one process`,
 * `failures`. Values that this reader may not see are said to be hidden.
 */
export function partText({ tenant, target, filter, when, level }: Part): string {
  const { where, text, sample } = filter ?? {};
  return [
    ...(when === undefined ? [] : [whenText(when, ', ')]),
    ...(tenant === undefined ? [] : [tenant]),
    ...(target?.request === true ? ['one request'] : []),
    ...Object.entries(target?.match ?? {}).map(
      ([name, value]) => `${name}=${value.startsWith('hmac:') ? '(hidden)' : value}`,
    ),
    ...(target?.instances === undefined ? [] : [describeInstances(target.instances)]),
    ...(where === undefined ? [] : [`where ${where}`]),
    ...(text === undefined ? [] : [`text ${text}`]),
    ...(sample === undefined ? [] : [`${Number((sample * 100).toPrecision(3))} %`]),
    ...(level === undefined ? [] : [levelText(level)]),
  ].join(', ');
}

/** Which processes, in words: `vm:4205`, `version 1.4.2, one process`; empty for all. */
export function describeInstances({ ids = [], version, count, percent }: Instances = {}): string {
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
