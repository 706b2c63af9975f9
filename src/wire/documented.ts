import type { z } from 'zod';

/** One schema per field of a documented type. Does not compile if one is missing, unknown, or accepts more than its field. */
export type Shape<Documented> = {
  readonly [Name in keyof Required<Documented>]: z.ZodType<unknown, Documented[Name]>;
};

/** The type with every array `readonly`. */
export type ReadonlyArrays<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly (infer Item)[]
    ? readonly ReadonlyArrays<Item>[]
    : T extends object
      ? { [Name in keyof T]: ReadonlyArrays<T[Name]> }
      : T;
