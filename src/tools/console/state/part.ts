import { partText } from '../../../wire/words/activation.ts';
import { FIELDS, FieldError, type Filled, readFields, type Typed } from '../../client/fields.ts';
import type { Query } from './route.ts';

/** Fields that take one text. */
export const TEXTS = ['where', 'text', 'sample', 'slowerThan', 'processes', 'version', 'count', 'percent'] as const;
export type TextName = (typeof TEXTS)[number];

/** Whose work, which lines and which processes are meant, as typed. Empty texts mean all. */
export interface PartForm extends Readonly<Record<TextName, string>> {
  /** `name=value` of up to {@link MAX_CONDITIONS} attributes. */
  readonly match: readonly string[];
  /** One request, which carries the ticket of the answer. */
  readonly request?: boolean;
  readonly failed: boolean;
}

export const PART_FIELDS = { ...FIELDS.work, ...FIELDS.outcome, ...FIELDS.processes };
export const EVERYTHING: PartForm = partOfQuery(new URLSearchParams());
/** Most attributes that work can be chosen by. */
export const MAX_CONDITIONS = 4;

export type ReadPart = Omit<Filled, 'budget'>;

/** @returns the target, the filter and the outcome, each absent for all; or what is wrong */
export function readPart({ request = false, ...form }: PartForm): ReadPart | string {
  try {
    const { target, ...rest } = readFields(trimmed({ ...form, match: request ? [] : form.match }));
    return { ...rest, ...((target || request) && { target: { ...(request && { request }), ...target } }) };
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    return `${PART_FIELDS[error.field as keyof typeof PART_FIELDS].page[0]}: ${error.message}`;
  }
}

/** A part in words, such as `user.id=42, where rows > 1000`; empty for everything. */
export function partWords({ target, filter, when }: ReadPart): string {
  return partText({ ...(target && { target }), ...(filter && { filter }), ...(when && { when }) });
}

/** People leave spaces around what they type. */
export function trimmed(typed: Typed): Typed {
  const trim = (value: Typed[keyof Typed]) =>
    typeof value === 'string' ? value.trim() : Array.isArray(value) ? value.map((each: string) => each.trim()) : value;
  return Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, trim(value)]));
}

/** The part that an address names. */
export function partOfQuery(query: URLSearchParams): PartForm {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, query.get(name) ?? ''])) as Record<TextName, string>;
  const match = (query.get('match') ?? '').split('\n').filter(Boolean);
  return { ...texts, match, failed: query.get('failed') === 'true' };
}

/** The address's query for a part. */
export function queryOfPart(part: PartForm): Query {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, part[name]]));
  return { ...texts, match: part.match.join('\n'), failed: part.failed ? 'true' : '' };
}

/** The limits of a part one by one: each in words, and the part without it. */
export function limitsOf(part: PartForm): readonly (readonly [text: string, without: PartForm])[] {
  return [
    ...part.match.map((text, at) => [text, { ...part, match: part.match.toSpliced(at, 1) }] as const),
    ...TEXTS.filter((name) => part[name] !== '').map(
      (name) => [`${PART_FIELDS[name].page[0]} ${part[name]}`, { ...part, [name]: '' }] as const,
    ),
    ...(part.failed ? [['Only failures', { ...part, failed: false }] as const] : []),
  ];
}

/**
 * A part narrowed to the value of an attribute; `undefined` for a value that cannot be compared.
 * @param of the attribute is one of the work, so that its other lines stay, or of the lines themselves
 */
export function onlyWith(part: PartForm, name: string, value: unknown, of: 'work' | 'lines'): PartForm | undefined {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return undefined;
  if (of === 'work') {
    const others = part.match.filter((each) => !each.startsWith(`${name}=`));
    return { ...part, match: [...others, `${name}=${value}`].slice(-MAX_CONDITIONS) };
  }
  const condition = `attributes[${JSON.stringify(name)}] == ${JSON.stringify(value)}`;
  if (part.where.includes(condition)) return part;
  return { ...part, where: part.where.trim() === '' ? condition : `(${part.where.trim()}) && ${condition}` };
}
