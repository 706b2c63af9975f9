import type { RdcpError } from '../../wire/errors.ts';
import { REFUSALS } from '../../wire/refusals.ts';

export interface Rule<T> {
  /** `undefined` for a value that is not allowed. */
  readonly parse: (value: string) => T | undefined;
  /** Description of allowed values, for the error. */
  readonly allowed: string;
  /** Allowed values as JSON Schema, for the OpenAPI document; with `required: true` for a parameter that is required. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export type QuerySchemas = Readonly<Record<string, Pick<Rule<unknown>, 'allowed' | 'schema'>>>;

export type Rules<T> = { readonly [K in keyof T]-?: Rule<NonNullable<T[K]>> };

/**
 * Reads the parameters that are present.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for an unknown, duplicate or invalid parameter
 */
export function parseQuery<T extends object>(querystring: string, rules: Rules<T>): Partial<T> {
  const query: Partial<T> = {};
  for (const [name, value] of new URLSearchParams(querystring)) {
    if (!Object.hasOwn(rules, name)) throw malformed(name, `is not one of ${Object.keys(rules).join(', ')}`);
    const key = name as keyof T;
    if (Object.hasOwn(query, key)) throw malformed(name, 'was given more than once');
    const { parse, allowed } = rules[key];
    const parsed = parse(value);
    if (parsed === undefined) throw malformed(name, `must be ${allowed}`);
    query[key] = parsed;
  }
  return query;
}

function malformed(name: string, problem: string, details?: object): RdcpError {
  return REFUSALS.malformedQuery(name === '' ? "''" : name.slice(0, 64), problem, details);
}

export function wholeNumber(from: number, to: number): Rule<number> {
  return {
    parse(value) {
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
      return number >= from && number <= to ? number : undefined;
    },
    allowed: `a whole number from ${from} to ${to}`,
    schema: { type: 'integer', minimum: from, maximum: to },
  };
}
