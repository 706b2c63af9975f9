import { z } from 'zod';
import type { Shape } from '../../wire/documented.ts';
import type * as Options from '../options.ts';
import { categoryName, countOf, optionalDescription, optionalFlag, text } from './values.ts';

const adoptRule = z
  .strictObject({
    match: z.union([z.string().max(1000), z.instanceof(RegExp)], {
      error: 'must be a text, in which * stands for any characters, or a regular expression',
    }),
    name: categoryName.optional(),
    group: categoryName.optional(),
    description: optionalDescription,
    exclude: optionalFlag,
  } satisfies Shape<Options.AdoptRule>)
  .refine(({ name, group, exclude }) => countOf(name, group, exclude) <= 1, {
    message: 'must hold at most one of name, group and exclude',
  });

const adoptPino = z.strictObject({
  bindings: z
    .union(
      [
        z.array(text).min(1),
        z.custom<Exclude<NonNullable<Options.AdoptPinoOptions['bindings']>, readonly string[]>>(
          (value) => typeof value === 'function',
        ),
      ],
      { error: 'must be a list of names of bindings, or a function from bindings to a name' },
    )
    .optional(),
} satisfies Shape<Options.AdoptPinoOptions>);

export const adopt = z.strictObject({
  debug: optionalFlag,
  pino: z.union([z.boolean(), adoptPino]).optional(),
  winston: optionalFlag,
  nest: optionalFlag,
  debuglog: optionalFlag,
  channels: optionalFlag,
  otel: optionalFlag,
  map: z.array(adoptRule).max(1000).optional(),
} satisfies Shape<Options.AdoptOptions>);
