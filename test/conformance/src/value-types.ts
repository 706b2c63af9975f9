import { isObject } from './expectation.ts';

/** A rule for one JSON value, with words for what was expected. */
export interface ValueType {
  readonly is: string;
  test(value: unknown): boolean;
}

const TIMESTAMP_FORM = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const CATEGORY_FORM = /^[A-Z][A-Z0-9_]{0,63}$/;
const CUSTOM_CATEGORY_FORM = /^X-.{1,62}$/;
const IDENTIFIER_FORM = /^[a-zA-Z0-9._-]{1,255}$/;
const ERROR_CODE_FORM = /^[A-Z0-9_]{3,64}$/;
const ELAPSED_FORM = /^\d+(\.\d+)?\s?(ns|us|µs|μs|ms|s|m|h)$/;
/** A vendor's name, a separator, and the field's own name. */
const VENDOR_FIELD = /^[A-Za-z][A-Za-z0-9]*[-_.:/].+$/;

export const OBJECT: ValueType = { is: 'an object', test: isObject };
export const ARRAY: ValueType = { is: 'an array', test: Array.isArray };
export const BOOLEAN: ValueType = { is: 'a boolean', test: (value) => typeof value === 'boolean' };
export const STRING: ValueType = { is: 'a string', test: (value) => typeof value === 'string' };
export const TEXT: ValueType = {
  is: 'a string that is not empty',
  test: (value) => typeof value === 'string' && value.trim() !== '',
};
export const NUMBER: ValueType = { is: 'a finite number', test: Number.isFinite };
export const NON_NEGATIVE: ValueType = {
  is: 'a number that is not negative',
  test: (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
};

export const TIMESTAMP: ValueType = {
  is: 'a UTC time YYYY-MM-DDTHH:mm:ss.sssZ',
  test: (value) =>
    typeof value === 'string' &&
    TIMESTAMP_FORM.test(value) &&
    !Number.isNaN(Date.parse(value)) &&
    new Date(value).toISOString() === value,
};

/** The specification asks for the prefix `X-`, which its own CategoryName pattern does not allow: either form will do. */
export const CATEGORY_NAME: ValueType = {
  is: 'a category name, ^[A-Z][A-Z0-9_]{0,63}$ or custom with the prefix X-',
  test: (value) => typeof value === 'string' && (CATEGORY_FORM.test(value) || CUSTOM_CATEGORY_FORM.test(value)),
};

export const IDENTIFIER: ValueType = {
  is: 'an identifier, ^[a-zA-Z0-9._-]{1,255}$',
  test: (value) => typeof value === 'string' && IDENTIFIER_FORM.test(value),
};

export const ERROR_CODE: ValueType = {
  is: 'an error code, ^[A-Z0-9_]{3,64}$',
  test: (value) => typeof value === 'string' && ERROR_CODE_FORM.test(value),
};

export const ELAPSED: ValueType = {
  is: 'an elapsed time with its unit, such as 12ms',
  test: (value) => typeof value === 'string' && ELAPSED_FORM.test(value),
};

export const PATH: ValueType = {
  is: 'a path that starts with /',
  test: (value) => typeof value === 'string' && /^\/[^\s]+$/.test(value),
};

export function oneOf(...values: readonly unknown[]): ValueType {
  return { is: values.map((value) => JSON.stringify(value)).join(' or '), test: (value) => values.includes(value) };
}

export function isVendorField(name: string): boolean {
  return VENDOR_FIELD.test(name);
}
