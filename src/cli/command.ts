import { parseArgs } from 'node:util';
import { inspectApiKey } from '../auth/api-key.ts';

/**
 * Everything a command uses from its process, so that tests can run it in-process. Output may come from a hostile server:
 * control characters are escaped, except line breaks.
 */
export interface Terminal {
  /** The requested output; safe to pipe. */
  out(text: string): void;
  /** Notes and errors, one line each. */
  note(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly now: () => number;
}

export interface Option {
  readonly type: 'string' | 'boolean';
  /** One line for `--help`. */
  readonly help: string;
  /** Placeholder for the value in `--help`. @default 'VALUE' */
  readonly value?: string;
}

/** Option values by name; an option that was not given is absent. */
export type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Command {
  readonly summary: string;
  /** Operands in the usage line. */
  readonly operands?: string;
  readonly options: Readonly<Record<string, Option>>;
  /** Lines below the options in `--help`. */
  readonly notes?: readonly string[];
  /** Selected by the first operand. */
  readonly subcommands?: Readonly<Record<string, Command>>;
  /** @returns the exit code; `undefined` means 0 */
  run(terminal: Terminal, values: Values, operands: readonly string[]): Promise<number | undefined>;
}

export interface Group {
  readonly summary: string;
  /** A command is loaded when it runs, or when help lists it. */
  readonly commands: Readonly<Record<string, Group | (() => Promise<Command>)>>;
  readonly notes?: readonly string[];
}

/** A usage error: one line on stderr and exit code 2. */
export class UsageError extends Error {}

/** Runs the command of a group that the arguments name. @param path command names so far, for help and messages */
export async function dispatch(
  group: Group,
  path: readonly string[],
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) {
    terminal.note(await groupHelp(group, path));
    return 2;
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    terminal.out(await groupHelp(group, path));
    return 0;
  }
  const found = Object.hasOwn(group.commands, name) ? group.commands[name] : undefined;
  if (found === undefined) {
    if (isKey(name))
      throw new UsageError('expected a command, got an API key: pass the key with --key-file or RDCP_API_KEY');
    const what = name.startsWith('-') ? 'option' : 'command';
    throw new UsageError(`unknown ${what} ${name}; see '${path.join(' ')} --help'`);
  }
  const next = [...path, name];
  return 'commands' in found ? dispatch(found, next, rest, terminal) : runCommand(await found(), next, rest, terminal);
}

async function runCommand(
  command: Command,
  path: readonly string[],
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const [name = '', ...rest] = args;
  const subcommand = Object.hasOwn(command.subcommands ?? {}, name) ? command.subcommands?.[name] : undefined;
  if (subcommand !== undefined) return runCommand(subcommand, [...path, name], rest, terminal);
  const { values, positionals } = parse(command, path, args);
  if (positionals.some(isKey))
    throw new UsageError('unexpected API key among the operands: pass it with --key-file or RDCP_API_KEY');
  if (values.help === true) {
    terminal.out(commandHelp(command, path));
    return 0;
  }
  return (await command.run(terminal, values, positionals)) ?? 0;
}

/** Also true for a mistyped key: an API key must be neither printed nor sent as an operand. */
function isKey(operand: string): boolean {
  return inspectApiKey(operand).form !== 'foreign';
}

const HELP = { type: 'boolean', short: 'h' } as const;

function parse(command: Command, path: readonly string[], args: readonly string[]) {
  const options = Object.fromEntries(Object.entries(command.options).map(([name, { type }]) => [name, { type }]));
  try {
    return parseArgs({
      args: [...args],
      options: { ...options, help: HELP },
      allowPositionals: true,
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message.split(/[.\n]/)[0] : 'invalid arguments';
    throw new UsageError(`${problem}; see '${path.join(' ')} --help'`);
  }
}

async function groupHelp({ summary, commands, notes = [] }: Group, path: readonly string[]): Promise<string> {
  const found = Object.entries(commands).map(async ([name, each]) => {
    const { summary: line } = 'commands' in each ? each : await each();
    return [name, line] as const;
  });
  const lines = await Promise.all(found);
  return [
    `Usage: ${path.join(' ')} <command> [options]`,
    '',
    summary,
    '',
    'Commands:',
    ...aligned(lines),
    '',
    ...notes,
    `Run '${path.join(' ')} <command> --help' for its options.`,
  ].join('\n');
}

function commandHelp(command: Command, path: readonly string[]): string {
  const { summary, operands, options, notes = [], subcommands = {} } = command;
  const more = Object.entries(subcommands).map(([name, each]) => [name, each.summary] as const);
  const lines = Object.entries(options).map(
    ([name, { type, value = 'VALUE', help }]) => [`--${name}${type === 'string' ? ` ${value}` : ''}`, help] as const,
  );
  return [
    `Usage: ${path.join(' ')}${operands === undefined ? '' : ` ${operands}`} [options]`,
    '',
    summary,
    '',
    'Options:',
    ...aligned([...lines, ['-h, --help', 'show this text'] as const]),
    ...(more.length === 0 ? [] : ['', 'Commands:', ...aligned(more)]),
    ...(notes.length === 0 ? [] : ['', ...notes]),
  ].join('\n');
}

function aligned(lines: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

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
