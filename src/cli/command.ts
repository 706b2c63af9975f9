import type { Style, Terminal } from './terminal.ts';

export type { Style, Terminal };

export interface Option {
  readonly type: 'string' | 'boolean';
  /** One line for `--help`. */
  readonly help: string;
  /** Placeholder for the value in `--help`. @default 'VALUE' */
  readonly value?: string;
  /** A single letter, such as `o` for `-o`. */
  readonly short?: string;
  /** Heading in `--help`. @default 'Options:' */
  readonly group?: string;
  /** What a shell offers as value: words, files, the categories of the service, or the profiles. */
  readonly completes?: Completion;
}

export type Completion = readonly string[] | 'files' | 'categories' | 'profiles';

/** Option values by name; an option that was not given is absent. */
export type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Command {
  readonly summary: string;
  /** The operands as in the usage line: `<name...>` are required, `[id]` may be left out. @default none */
  readonly operands?: string;
  /** What a shell offers as operands. */
  readonly completes?: Completion;
  readonly options: Readonly<Record<string, Option>>;
  /** Lines below the options in `--help`. */
  readonly notes?: readonly string[];
  /** Command lines for `--help` and the documentation. */
  readonly examples: readonly string[];
  /** Selected by the first operand. */
  readonly subcommands?: Commands;
  /** @returns the exit code; `undefined` means 0 */
  run(terminal: Terminal, values: Values, operands: readonly string[]): Promise<number | undefined>;
}

/** A command is loaded when it runs, or when help lists it. */
export type Commands = Readonly<Record<string, Group | (() => Promise<Command>)>>;

export interface Group {
  readonly summary: string;
  readonly commands: Commands;
  readonly notes?: readonly string[];
}

/** Of the whole `rdcp` command. */
export const EXIT = { done: 0, refused: 1, usage: 2, partial: 3, unreachable: 4 } as const;

/** A usage error: one line on stderr and exit code 2. */
export class UsageError extends Error {}

/** The value of a string option, or `undefined` if it was not given. */
export function text(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** @throws {UsageError} if the option is missing or empty */
export function required(values: Values, name: string, placeholder = 'VALUE'): string {
  const value = text(values, name);
  if (value === undefined || value === '') throw new UsageError(`--${name} ${placeholder} is required`);
  return value;
}
