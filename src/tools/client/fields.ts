import { MAX_BUDGET_RATE, MAX_BUDGET_TOTAL } from '../../wire/constants.ts';
import type { ControlOptions } from '../../wire/control-options.ts';
import { given } from '../../wire/json-text.ts';
import type { ControlBudget } from '../../wire/messages.ts';
import type { ControlTarget, LineFilter, When } from '../../wire/target.ts';

// What can be filled in beside the categories: once, for the options of the command and the fields of the page. Another one
// is a row here, and its rule in wire/target.ts or wire/control-request.ts.

export interface Filled {
  readonly target?: ControlTarget | undefined;
  readonly filter?: LineFilter | undefined;
  readonly when?: When | undefined;
  readonly budget?: ControlBudget | undefined;
}

export interface Field {
  /** Where its value stands in {@link Filled}. */
  readonly at: string;
  /** Option of the command. @default the field's name */
  readonly option?: string;
  readonly short?: string;
  /** Placeholder of the option's value. @default none: it is a flag */
  readonly value?: string;
  readonly repeats?: true;
  readonly completes?: 'processes';
  readonly help: string;
  /** Label on the page, and an example. */
  readonly page: readonly [label: string, example?: string];
  /** Its value. @param texts as typed, none of them empty. @throws {Error} that says what is wrong. @default the first text */
  readonly read?: (texts: readonly string[]) => unknown;
}

const first = ([text = '']: readonly string[]) => text;

function numberUpTo(most: number, form: RegExp, must: string) {
  return (texts: readonly string[]) => {
    const [, above, below = '1'] = form.exec(first(texts)) ?? [];
    const value = Number(above) / Number(below);
    if (value > 0 && value <= most) return value;
    throw new Error(must);
  };
}

const wholeUpTo = (most: number) => numberUpTo(most, /^(\d{1,15})$/, `must be a whole number from 1 to ${most}`);
const table = <Name extends string>(fields: Readonly<Record<Name, Field>>) => fields;

export const FIELDS = {
  work: table({
    match: {
      at: 'target.match',
      short: 'm',
      value: 'NAME=VALUE',
      repeats: true,
      help: 'only work with this attribute, such as user.id=42 or url.path=/checkout*; up to 4, all of which must match',
      page: ['Work with', 'user.id=42'],
      read: (texts) => {
        const match: Record<string, string> = {};
        for (const text of texts) {
          const [, name = '', value = ''] = /^([^=]*?)\s*=\s*(.*)$/s.exec(text) ?? [];
          if (name === '' || value === '') throw new Error(`must be NAME=VALUE, such as user.id=42, not ${text}`);
          if (Object.hasOwn(match, name)) throw new Error(`names ${name} more than once`);
          match[name] = value;
        }
        return match;
      },
    },
    where: {
      at: 'filter.where',
      value: 'EXPR',
      help: 'only lines for which this is true, such as \'rows > 1000 && table == "orders"\' (CEL)',
      page: ['Lines where', 'rows > 1000'],
    },
    text: {
      at: 'filter.text',
      value: 'PATTERN',
      help: "only lines with this message, with * for anything: 'query*'",
      page: ['Message', 'query*'],
    },
    sample: {
      at: 'filter.sample',
      value: '1/100',
      help: 'only this share of the traces, and of calls without a trace',
      page: ['Share of the traces', '1/100'],
      read: numberUpTo(1, /^(\d+(?:\.\d+)?)(?:\/(\d+))?$/, 'must be a share above 0, up to 1, such as 1/100 or 0.01'),
    },
  }),
  processes: table({
    processes: {
      at: 'target.instances.ids',
      option: 'instance',
      value: 'HOST:PID',
      repeats: true,
      completes: 'processes',
      help: 'only this process, by host:pid or id as in rdcp fleet',
      page: ['Processes', 'shop-1:4200'],
      read: (texts) => texts.flatMap((text) => text.split(/[\s,]+/)),
    },
    count: {
      at: 'target.instances.count',
      option: 'one',
      help: 'only one process; when it ends, the next takes its place',
      page: ['Number of processes', '1'],
      read: wholeUpTo(10_000),
    },
    percent: {
      at: 'target.instances.percent',
      value: '5',
      help: 'only this share of the processes, and at least one',
      page: ['Percent of the processes', '5'],
      read: numberUpTo(100, /^(\d+(?:\.\d+)?)\s*%?$/, 'must be above 0, up to 100'),
    },
    version: {
      at: 'target.instances.version',
      value: '1.4.2',
      help: 'only processes of this version of the service',
      page: ['Version of the service', '2.4.1'],
    },
  }),
  /** For lines that can wait until their work has ended. */
  outcome: table({
    failed: {
      at: 'when.failed',
      option: 'on-error',
      help: 'only lines of work that fails (requests with status 500 or more, exceptions, errors logged), from its beginning',
      page: ['Only work that fails: its lines come when it has ended'],
      read: () => true,
    },
    slowerThan: {
      at: 'when.slowerThan',
      option: 'slower-than',
      value: '2s',
      help: 'only lines of work that takes longer, from its beginning; with --on-error: either',
      page: ['Work slower than', '2s'],
      read: (texts) => {
        if (/^0*[1-9]\d{0,6}(?:ms|s|m)$/.test(first(texts))) return first(texts);
        throw new Error(`must be a time such as 2s or 500ms, not ${first(texts)}`);
      },
    },
  }),
  limits: table({
    rate: {
      at: 'budget.callsPerSecond',
      value: 'N',
      help: 'maximum calls per second; more than configured needs admin',
      page: ['Lines a second', 'as configured'],
      read: wholeUpTo(MAX_BUDGET_RATE),
    },
    calls: {
      at: 'budget.calls',
      value: 'N',
      help: 'end after N calls',
      page: ['Lines in all', 'as configured'],
      read: wholeUpTo(MAX_BUDGET_TOTAL),
    },
    bytes: {
      at: 'budget.bytes',
      value: 'N',
      help: 'end after N bytes',
      page: ['Bytes in all', 'as configured'],
      read: wholeUpTo(MAX_BUDGET_TOTAL),
    },
  }),
};

const ALL = { ...FIELDS.work, ...FIELDS.processes, ...FIELDS.outcome, ...FIELDS.limits };
export type FieldName = keyof typeof ALL;

export function optionOf(name: FieldName): string {
  return (ALL[name] as Field).option ?? name;
}

/** As typed. Empty texts limit nothing. */
export type Typed = Readonly<Partial<Record<FieldName, string | boolean | readonly string[] | undefined>>>;

export class FieldError extends Error {
  readonly field: FieldName;

  constructor(field: FieldName, problem: string) {
    super(problem);
    this.field = field;
  }
}

export function readFields(typed: Typed): Filled {
  const filled: Tree = {};
  for (const [name, { at, read = first }] of fields()) {
    const texts = [typed[name] ?? false].flat().map((text) => (text === true ? '1' : text || ''));
    const given = texts.filter((text) => text !== '');
    if (given.length === 0) continue;
    try {
      put(filled, at.split('.'), read(given));
    } catch (error) {
      throw new FieldError(name, (error as Error).message);
    }
  }
  const { count, percent } = (filled as Filled).target?.instances ?? {};
  if ((count ?? percent) === undefined || (count && percent) === undefined) return filled;
  throw new FieldError('percent', 'cannot be combined with a number of processes');
}

type Tree = { [name: string]: unknown };

function put(tree: Tree, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    tree[name] = value;
    return;
  }
  tree[name] ??= {};
  put(tree[name] as Tree, rest, value);
}

function fields(): [FieldName, Field][] {
  return Object.entries(ALL) as [FieldName, Field][];
}

export function controlOptionsOf({ target, filter, when, budget }: Filled): ControlOptions {
  return given({ otelrdcp_target: target, otelrdcp_filter: filter, otelrdcp_when: when, otelrdcp_budget: budget });
}

/** Options of the command that mean the same; `undefined` for a number of processes that it has no option for. */
export function commandOptions(filled: Filled): readonly string[] | undefined {
  if ((filled.target?.instances?.count ?? 1) > 1) return undefined;
  return fields().flatMap(([name, { at, option = name, value }]) => {
    const found = at.split('.').reduce<unknown>((parent, each) => Object(parent)[each], filled);
    if (found === undefined) return [];
    if (value === undefined) return [`--${option}`];
    const values = name === 'match' ? Object.entries(Object(found)).map((pair) => pair.join('=')) : [found].flat();
    return values.flatMap((each) => [`--${option}`, String(each)]);
  });
}
