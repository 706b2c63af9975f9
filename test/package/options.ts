import { z } from 'zod';
import { configSchema } from '../../src/options/config.ts';

/** An option as the schema has it. */
export interface SchemaOption {
  /** Its name, and those of the options that it is in; `[]` is an entry of a list, `<name>` one of a record. */
  readonly path: readonly string[];
  /** True if it may be left out. */
  readonly optional: boolean;
  /** Its value if left out, where the schema has one. */
  readonly default: unknown;
}

/** Every option that the configuration's schema knows. */
export function schemaOptions(): readonly SchemaOption[] {
  const found = new Map(optionsIn(configSchema, []).map((option) => [option.path.join('.'), option]));
  return [...found.values()];
}

function optionsIn(schema: z.core.$ZodType, path: readonly string[]): SchemaOption[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return optionsIn(schema.def.innerType, path);
  }
  if (schema instanceof z.ZodUnion) return schema.def.options.flatMap((option) => optionsIn(option, path));
  if (schema instanceof z.ZodArray) return optionsIn(schema.def.element, [...path, '[]']);
  if (schema instanceof z.ZodRecord) return optionsIn(schema.def.valueType, [...path, '<name>']);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries<z.core.$ZodType>(schema.def.shape).flatMap(([name, field]) => [
    { path: [...path, name], optional: z.safeParse(field, undefined).success, default: defaultOf(field) },
    ...optionsIn(field, [...path, name]),
  ]);
}

function defaultOf(schema: z.core.$ZodType): unknown {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined;
}
