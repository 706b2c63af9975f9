import type { z } from 'zod';

/**
 * One schema for each field of a documented type. A missing or an additional field does not compile, nor does a schema that
 * accepts more than its field.
 */
export type Shape<Documented> = {
  readonly [Name in keyof Required<Documented>]: z.ZodType<unknown, Documented[Name]>;
};

/** The type with every array in it as `readonly`. */
export type ReadonlyArrays<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly (infer Item)[]
    ? readonly ReadonlyArrays<Item>[]
    : T extends object
      ? { [Name in keyof T]: ReadonlyArrays<T[Name]> }
      : T;
