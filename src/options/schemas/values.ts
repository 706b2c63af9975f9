import { z } from 'zod';
import { SCOPES } from '../../wire/constants.ts';
import { duration } from '../../wire/control-request.ts';
import { IDENTIFIER, isCategoryName } from '../../wire/names.ts';
import { formatDuration } from '../../wire/time.ts';

// Shared wherever they are used: each schema takes 2 KB of a service's memory.
export const text = z.string().min(1);
export const optionalText = text.optional();
export const textOrTexts = z.union([text, z.array(text).min(1)]);
export const optionalString = z.string().optional();
export const optionalLabel = z.string().min(1).max(200).optional();
export const optionalDescription = z.string().max(1000).optional();
export const notEmpty = z.string().min(1, 'must not be empty');
export const optionalFlag = z.boolean().optional();
export const off = z.literal(false);
export const disabledByDefault = z.boolean().default(false);
export const positive = z.number().int().positive();
export const categoryName = z
  .string()
  .refine(isCategoryName, 'must be a category name: ^[A-Z][A-Z0-9_]{0,63}$, or ^X-[A-Z][A-Z0-9_-]{0,61}$');
export const identifier = z.string().regex(IDENTIFIER, 'must be 1 to 255 of a-z A-Z 0-9 . _ -');
export const optionalIdentifier = identifier.optional();
export const scopes = z.array(z.enum(SCOPES)).min(1, 'must hold at least one scope');
export const optionalInstant = z.iso
  .datetime({ message: 'must be a UTC time such as 2026-01-31T00:00:00.000Z' })
  .optional();

export const durationUpTo = (most: number) =>
  duration.refine((seconds) => seconds <= most, `must be at most ${formatDuration(most)}`);
export const upToAnHour = durationUpTo(3600);

export const countOf = (...values: readonly unknown[]) => values.filter((value) => value !== undefined).length;
