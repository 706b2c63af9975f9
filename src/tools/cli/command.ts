import type { Style } from './table.ts';
import type { Terminal } from './terminal.ts';

export type { Style, Terminal };

export interface Option {
  readonly help: string;
  readonly value?: string;
  readonly repeats?: true;
  /** A single letter, such as `o` for `-o`. */
  readonly short?: string;
  readonly group?: string;
  /** Completions of the value: words, files, the categories, tenants or processes of the service, the profiles, or lists of services. */
  readonly completes?: Completion;
}

export type Completion = readonly string[] | 'files' | 'categories' | 'tenants' | 'processes' | 'profiles' | 'services';

/** Option values by name; an option that was not given is absent. */
export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Command {
  readonly summary: string;
  /** The operands as in the usage line: `<name...>` are required, `[id]` may be left out. @default none */
  readonly operands?: string;
  readonly completes?: Completion;
  readonly options: Readonly<Record<string, Option>>;
  /** Lines below the options in `--help`. */
  readonly notes?: readonly string[];
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
  /** Headings of the help, by the command that each stands above. @default one for all commands */
  readonly headings?: Readonly<Record<string, string>>;
  readonly start?: readonly string[];
  readonly notes?: readonly string[];
}

export function commandsOf(entry: Group | Command): Commands {
  return ('run' in entry ? entry.subcommands : entry.commands) ?? {};
}

export function loaded(found: Commands[string]): Group | Promise<Command> | Command {
  return 'commands' in found ? found : found();
}

/** The command, or group, that words name, its names, and the words after them. */
export async function reached(root: Group, words: readonly string[]) {
  let entry: Group | Command = root;
  for (const [at, word] of words.entries()) {
    const commands = commandsOf(entry);
    if (!Object.hasOwn(commands, word)) return { entry, names: words.slice(0, at), rest: words.slice(at) };
    entry = await loaded(commands[word] as Commands[string]);
  }
  return { entry, names: words, rest: [] };
}

export const EXIT = { done: 0, refused: 1, usage: 2, partial: 3, unreachable: 4 } as const;

export const WHICH_CATEGORY = "which category? 'rdcp list' shows them";

/** A usage error: one line on stderr and exit code 2. */
export class UsageError extends Error {}

/** The options under a heading of the help. */
export function grouped<Name extends string>(group: string, options: Readonly<Record<Name, Option>>): typeof options {
  const entries = Object.entries<Option>(options).map(([name, option]) => [name, { ...option, group }]);
  return Object.fromEntries(entries);
}

export function text(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

export function required(values: Values, name: string, placeholder = 'VALUE'): string {
  const value = text(values, name);
  if (value === undefined || value === '') throw new UsageError(`--${name} ${placeholder} is required`);
  return value;
}

export function lists(values: Values, name: string): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? value : [];
}
