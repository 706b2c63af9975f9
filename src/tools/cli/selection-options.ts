import { type Instances, type LineFilter, parseWorkDuration, type Target, type When } from '../../wire/target.ts';
import { lists, type Option, text, UsageError, type Values } from './command.ts';

const GROUP = 'Which work, lines and processes:';

export const INSTANCE_OPTIONS = {
  instance: {
    value: 'HOST:PID',
    repeats: true,
    help: 'only this process, by host:pid or id as in rdcp fleet',
    completes: 'processes',
    group: GROUP,
  },
  one: { help: 'only one process; when it ends, the next takes its place', group: GROUP },
  percent: { value: '5', help: 'only this share of the processes, and at least one', group: GROUP },
  version: { value: '1.4.2', help: 'only processes of this version of the service', group: GROUP },
} as const satisfies Readonly<Record<string, Option>>;

export const SELECTION_OPTIONS = {
  match: {
    short: 'm',
    value: 'NAME=VALUE',
    repeats: true,
    help: 'only work with this attribute, such as user.id=42 or url.path=/checkout*; up to 4, all of which must match',
    group: GROUP,
  },
  where: {
    value: 'EXPR',
    help: 'only lines for which this is true, such as \'rows > 1000 && table == "orders"\' (CEL)',
    group: GROUP,
  },
  text: { value: 'PATTERN', help: "only lines with this message, with * for anything: 'query*'", group: GROUP },
  sample: { value: '1/100', help: 'only this share of the traces, and of calls without a trace', group: GROUP },
  ...INSTANCE_OPTIONS,
} as const satisfies Readonly<Record<string, Option>>;

/** For lines that can wait until their work has ended. */
export const OUTCOME_OPTIONS = {
  'on-error': {
    help: 'only lines of work that fails (requests with status 500 or more, exceptions, errors logged), from its beginning',
    group: GROUP,
  },
  'slower-than': {
    value: '2s',
    help: 'only lines of work that takes longer, from its beginning; with --on-error: either',
    group: GROUP,
  },
} as const satisfies Readonly<Record<string, Option>>;

interface Selected {
  readonly target?: Target;
  readonly filter?: LineFilter;
  readonly when?: When;
}

/** @throws {UsageError} */
export function selectionOf(values: Values): Selected {
  const conditions = lists(values, 'match').map(conditionOf);
  const names = conditions.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`--match names ${twice} more than once`);
  const filter = { where: text(values, 'where'), text: text(values, 'text'), sample: sampleOf(values) };
  const target = {
    ...(conditions.length > 0 && { match: Object.fromEntries(conditions) }),
    ...instancesOf(values),
  };
  const when = whenOf(values);
  return {
    ...(Object.keys(target).length > 0 && { target }),
    ...(Object.values(filter).some((value) => value !== undefined) && { filter }),
    ...(when !== undefined && { when }),
  };
}

/** @throws {UsageError} */
export function instancesOf(values: Values): Pick<Target, 'instances'> {
  const percent = text(values, 'percent');
  const [, share] = /^(\d+(?:\.\d+)?)%?$/.exec(percent ?? '1') ?? [];
  if (!(Number(share) > 0 && Number(share) <= 100)) throw new UsageError('--percent must be above 0, up to 100');
  if (percent !== undefined && values.one === true) throw new UsageError('--percent cannot be combined with --one');
  const ids = lists(values, 'instance');
  const version = text(values, 'version');
  const instances: Instances = {
    ...(ids.length > 0 && { ids }),
    ...(version !== undefined && { version }),
    ...(values.one === true && { count: 1 }),
    ...(percent !== undefined && { percent: Number(share) }),
  };
  return Object.keys(instances).length > 0 ? { instances } : {};
}

function whenOf(values: Values): When | undefined {
  const slowerThan = text(values, 'slower-than');
  if (slowerThan !== undefined && parseWorkDuration(slowerThan) === undefined) {
    throw new UsageError(`--slower-than must be a time such as 2s or 500ms, not ${slowerThan}`);
  }
  if (values['on-error'] !== true && slowerThan === undefined) return undefined;
  return { ...(values['on-error'] === true && { failed: true }), ...(slowerThan !== undefined && { slowerThan }) };
}

function conditionOf(given: string): readonly [name: string, value: string] {
  const at = given.indexOf('=');
  if (at > 0 && at < given.length - 1) return [given.slice(0, at), given.slice(at + 1)];
  throw new UsageError(`--match must be NAME=VALUE, such as user.id=42, not ${given}`);
}

function sampleOf(values: Values): number | undefined {
  const given = text(values, 'sample');
  if (given === undefined) return undefined;
  const [, above, below = '1'] = /^(\d+(?:\.\d+)?)(?:\/(\d+))?$/.exec(given) ?? [];
  const share = Number(above) / Number(below);
  if (share > 0 && share <= 1) return share;
  throw new UsageError('--sample must be a share above 0, up to 1, such as 1/100 or 0.01');
}
