import type { Described } from '../gate/types.ts';
import type { AdoptedCategory, Adoption } from './types.ts';

/** Fields that name a logger, the first one that has a text; or a function of all its fields. */
export type LoggerNames =
  | readonly string[]
  | ((fields: Readonly<Record<string, unknown>>) => string | null | undefined);

/** The name of a logger that has none of its own. */
export const APPLICATION = 'APP';

/** Describes a line that no tap wants: nothing reads it, and a function for each line would cost more than the decision. */
export const undescribed = (): Described => ({ message: '' });

/** What a library's loggers are adopted with. */
export interface LoggerAdopter {
  readonly names: LoggerNames;
  /** @param debugs whether the logger writes debug lines by itself */
  category(name: string, debugs: boolean): AdoptedCategory | undefined;
  failed: Adoption['failed'];
}

/** Of loggers that nobody adopts. */
export const UNADOPTED: LoggerAdopter = { names: [], category: () => undefined, failed: () => undefined };

/** @param version of the library */
export function loggerAdopter(adoption: Adoption, names: LoggerNames, version: string | undefined): LoggerAdopter {
  return {
    names,
    category(name, debugs) {
      const category = adoption.category(name, { version, enabledByDefault: debugs });
      if (debugs) category?.setDefault(true);
      return category;
    },
    failed: adoption.failed,
  };
}

/** Returns the name that a logger's fields (bindings, default meta) give it; `undefined` if they give none. */
export function nameOf(fields: unknown, names: LoggerNames): string | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  if (typeof names === 'function') return text(names(fields as Record<string, unknown>));
  for (const field of names) {
    const name = text((fields as Record<string, unknown>)[field]);
    if (name !== undefined) return name;
  }
  return undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
