import { z } from 'zod';
import { decodeJson } from './decode.ts';
import type { DiscoveredSource } from './messages.ts';
import { isCategoryName } from './names.ts';

/** A category as a process describes it to the other processes of its fleet. */
export interface ListedCategory {
  readonly name: string;
  readonly description: string;
  readonly defaultEnabled: boolean;
  /** The logger of another library that the category controls. */
  readonly source?: DiscoveredSource | undefined;
}

/** The categories of the other processes of a fleet. */
export interface OtherCategories {
  readonly processes: number;
  /** Keyed by name, with the description of the first process by id. */
  readonly categories: ReadonlyMap<string, ListedCategory & { readonly having: number }>;
}

/** Most categories of a list, and of a fleet. */
export const MAX_LISTED = 4096;
const LONGEST_TEXT = 200;

const short = z.string().max(LONGEST_TEXT);
const schema = z
  .array(
    z.object({
      name: z.string().refine(isCategoryName),
      description: short,
      defaultEnabled: z.boolean(),
      source: z
        .object({ kind: short, name: short, version: short.optional(), package: short.optional(), count: z.number() })
        .optional(),
    }),
  )
  .max(MAX_LISTED);

/** The list as text: long descriptions are cut, so that it stays below 2 MB. */
export function writeCategoryList(categories: readonly ListedCategory[]): string {
  const entries = categories.map(({ name, description, defaultEnabled, source }) => ({
    name,
    description: description.slice(0, LONGEST_TEXT),
    defaultEnabled,
    source: source && { ...source, name: source.name.slice(0, LONGEST_TEXT) },
  }));
  return JSON.stringify(entries);
}

/** `undefined` for a list that is malformed, or of a release with another format. */
export function readCategoryList(text: string): readonly ListedCategory[] | undefined {
  return decodeJson(schema, text) as readonly ListedCategory[] | undefined;
}
