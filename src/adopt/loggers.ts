import { fieldOf, isError } from '../wire/thrown.ts';
import type { AdoptedCategory } from './category.ts';
import type { Adoption } from './types.ts';

/** Fields that name a logger, the first one that has a text; or a function of all its fields. */
export type LoggerNames =
  | readonly string[]
  | ((fields: Readonly<Record<string, unknown>>) => string | null | undefined);

/** The name of a logger that has none of its own. */
export const APPLICATION = 'APP';

/** Levels that count as debug output of loggers without a level `info`. */
export const DEBUG_LEVELS: ReadonlySet<string> = new Set(['debug', 'trace', 'verbose', 'silly']);

/** Gives the loggers of one library their categories. */
export interface LoggerAdopter extends Pick<Adoption, 'workFailed' | 'failed' | 'attempt'> {
  readonly names: LoggerNames;
  /** @param debugs whether the logger writes debug lines by itself @param parent the category of the logger that it is a child of */
  category(name: string, debugs: boolean, parent?: AdoptedCategory): AdoptedCategory | undefined;
}

/** For loggers that are not adopted. */
export const UNADOPTED: LoggerAdopter = {
  names: [],
  category: () => undefined,
  workFailed: () => undefined,
  failed: () => undefined,
  attempt(work) {
    try {
      return work();
    } catch {
      return undefined;
    }
  },
};

/** @param version of the library, if it is known */
export function loggerAdopter(adoption: Adoption, names: LoggerNames, version?: string): LoggerAdopter {
  return {
    ...adoption,
    names,
    category(name, debugs, parent) {
      const category = adoption.category(name, { version: version || undefined, enabledByDefault: debugs, parent });
      if (debugs && category !== parent) category?.setDefault(true);
      return category;
    },
  };
}

/** Returns the name that a logger's fields (bindings, default meta) give it; `undefined` if they give none. */
export function nameOf(fields: unknown, names: LoggerNames): string | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  if (typeof names === 'function') return text(names(fields as Record<string, unknown>));
  for (const field of names) {
    const name = text(fieldOf(fields, field));
    if (name !== undefined) return name;
  }
  return undefined;
}

/** The error that a line is about: what is logged itself, or its field `err` or `error`. */
export function errorOf(logged: unknown): unknown {
  if (isError(logged) || typeof logged !== 'object' || logged === null) return logged;
  return fieldOf(logged, 'err') ?? fieldOf(logged, 'error');
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
