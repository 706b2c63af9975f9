import type { ControlTarget, Instances, LineFilter, When } from '../../../wire/target.ts';
import type { Query } from './route.ts';

/** Whose work, which lines and which processes are meant, as typed. Empty texts mean all. */
export interface PartForm {
  /** `name=value` of up to {@link MAX_CONDITIONS} attributes. */
  readonly match: readonly string[];
  /** One request, which carries the ticket of the answer. */
  readonly request?: boolean;
  readonly where: string;
  readonly text: string;
  /** One of so many traces. */
  readonly oneOf: string;
  /** Work that fails. */
  readonly failed: boolean;
  /** Work that takes at least this long, such as `2s`. */
  readonly slowerThan: string;
  /** `host:pid` or ids of processes, with commas between them. */
  readonly processes: string;
  /** Processes of this version of the service. */
  readonly version: string;
  /** So many processes, `2`, or a share of them, `10%`. */
  readonly share: string;
}

export const EVERYTHING: PartForm = {
  match: [],
  where: '',
  text: '',
  oneOf: '',
  failed: false,
  slowerThan: '',
  processes: '',
  version: '',
  share: '',
};
/** Most attributes that work can be chosen by. */
export const MAX_CONDITIONS = 4;

export interface ReadPart {
  readonly target?: ControlTarget;
  readonly filter?: LineFilter;
  readonly when?: When;
}

/** @returns the target, the filter and the outcome, each absent for all; or what is wrong */
export function readPart(form: PartForm): ReadPart | string {
  const { request, where, text, oneOf, failed, slowerThan } = form;
  const conditions = request
    ? []
    : form.match.map((condition) => condition.trim()).filter((condition) => condition !== '');
  const pairs = conditions.map((condition): [string, string] => {
    const at = condition.indexOf('=');
    return [condition.slice(0, Math.max(at, 0)).trim(), condition.slice(at + 1).trim()];
  });
  if (pairs.some(([name, value]) => name === '' || value === '')) return 'Write name=value, such as user.id=42';
  if (!/^(?:[1-9]\d{0,8})?$/.test(oneOf.trim())) return 'One of how many is a whole number from 1';
  if (!/^(?:[1-9]\d{0,6}(?:ms|s|m))?$/.test(slowerThan.trim())) return 'Slower than is a time such as 2s or 500ms';
  const instances = readInstances(form);
  if (typeof instances === 'string') return instances;
  const filter = {
    ...(where.trim() !== '' && { where: where.trim() }),
    ...(text.trim() !== '' && { text: text.trim() }),
    ...(oneOf.trim() !== '' && { sample: 1 / Number(oneOf) }),
  };
  const target = {
    ...(request && { request }),
    ...(pairs.length > 0 && { match: Object.fromEntries(pairs) }),
    ...(instances && { instances }),
  };
  const when = {
    ...(failed && { failed }),
    ...(slowerThan.trim() !== '' && { slowerThan: slowerThan.trim() }),
  };
  return {
    ...(Object.keys(target).length > 0 && { target }),
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(Object.keys(when).length > 0 && { when }),
  };
}

function readInstances({ processes, version, share }: PartForm): Instances | undefined | string {
  const ids = processes.split(/[\s,]+/).filter(Boolean);
  const [, number = '', percent] = /^(\d{1,5}(?:\.\d{1,3})?)\s*(%?)$/.exec(share.trim()) ?? [];
  const most = percent === '%' ? 100 : 10_000;
  const isWrong = share.trim() !== '' && !(Number(number) > 0 && Number(number) <= most);
  if (isWrong || (number !== '' && percent !== '%' && number.includes('.'))) {
    return 'How many processes is a number such as 1, or a share such as 10%';
  }
  const instances = {
    ...(ids.length > 0 && { ids }),
    ...(version.trim() !== '' && { version: version.trim() }),
    ...(number !== '' && (percent === '%' ? { percent: Number(number) } : { count: Number(number) })),
  };
  return Object.keys(instances).length > 0 ? instances : undefined;
}

/** Fields that stand in the address as they were typed. */
const TEXTS = ['where', 'text', 'oneOf', 'slowerThan', 'processes', 'version', 'share'] as const;

/** The part that an address names. */
export function partOfQuery(query: URLSearchParams): PartForm {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, query.get(name) ?? '']));
  const match = (query.get('match') ?? '').split('\n').filter(Boolean);
  return { ...EVERYTHING, ...texts, match, failed: query.get('failed') === 'true' };
}

/** The address's query for a part. */
export function queryOfPart(part: PartForm): Query {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, part[name]]));
  return { ...texts, match: part.match.join('\n'), failed: part.failed ? 'true' : '' };
}

/** Whether anything but all work and all lines in all processes is meant. */
export function isLimited(part: PartForm): boolean {
  return Object.values(queryOfPart(part)).some((text) => text !== '');
}

/** A part without the lines whose attribute has another value. `undefined` for a value that cannot be compared. */
export function onlyWith(part: PartForm, name: string, value: unknown): PartForm | undefined {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return undefined;
  const condition = `attributes[${JSON.stringify(name)}] == ${JSON.stringify(value)}`;
  if (part.where.includes(condition)) return part;
  return { ...part, where: part.where.trim() === '' ? condition : `(${part.where.trim()}) && ${condition}` };
}
