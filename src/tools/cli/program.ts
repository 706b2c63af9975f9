import { CommanderError, Command as Parser, Option as ParserOption } from 'commander';
import { inspectApiKey } from '../../access/api-key.ts';
import {
  type Command,
  commandsOf,
  EXIT,
  type Group,
  loaded,
  type Option,
  reached,
  type Terminal,
  UsageError,
  type Values,
  WHICH_CATEGORY,
} from './command.ts';
import { formatOf } from './options.ts';
import { servicesLast } from './services.ts';
import { folded } from './table.ts';

/** Columns of the help where the output has no width of its own. */
const COLUMNS = 120;
/** Least columns in which the text beside an option is folded. */
const LEAST_COLUMNS = 12;
const MARGINS = 4;
/** docs/command-line.md has the others. */
const MOST_EXAMPLES = 4;

function helpColumns({ screen }: Terminal): number {
  return Math.min(screen.columns || COLUMNS, COLUMNS);
}

/** Runs the command of a line. Only that command is loaded; of the others the names are known. @throws {UsageError} for arguments that it does not take */
export async function run(name: string, root: Group, args: readonly string[], terminal: Terminal): Promise<number> {
  assertNoKey(args);
  // `help enable` is `enable --help`.
  const words = servicesLast(args[0] === 'help' ? [...args.slice(1), '--help'] : args);
  if (words.length === 0) {
    terminal.note(`Usage: ${name} <command> [options]\n\n${root.start?.join('\n')}\n\nAll commands: ${name} --help`);
    return EXIT.usage;
  }
  const { entry, names, rest } = await reached(root, words);
  const command = [name, ...names].join(' ');
  const outcome: { code: number } = { code: EXIT.done };
  const parser = await parserOf(command, entry, { words: rest, terminal, outcome });
  try {
    await parser.parseAsync([...rest], { from: 'user' });
    return outcome.code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // The help without a command is an error, on stderr; with `--help` it is what was asked for.
    if (error.code === 'commander.help') return EXIT.usage;
    if (error.code === 'commander.helpDisplayed') return EXIT.done;
    if (error.code === 'commander.missingArgument' && 'run' in entry && entry.completes === 'categories')
      throw new UsageError(WHICH_CATEGORY);
    // Such as `error: unknown option '--fro'`, and a suggestion on a line of its own.
    const problem = error.message.replace(/^error: |\.$/g, '').replaceAll('\n', ' ');
    throw new UsageError(`${problem}; see '${command} --help'`);
  }
}

async function parserOf(
  name: string,
  entry: Group | Command,
  { words, terminal, outcome }: { words: readonly string[]; terminal: Terminal; outcome: { code: number } },
): Promise<Parser> {
  const isGroup = !('run' in entry);
  const parser = new Parser(name)
    .description(entry.summary)
    .helpCommand(false)
    .helpOption('-h, --help', 'show this text; docs/command-line.md says more')
    .exitOverride()
    .configureHelp({ minWidthToWrap: LEAST_COLUMNS, ...(isGroup && { visibleOptions: () => [] }) })
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      outputError: () => undefined,
      getOutHelpWidth: () => helpColumns(terminal),
      getErrHelpWidth: () => helpColumns(terminal),
    });
  const commands = Object.entries(commandsOf(entry));
  const room = roomBeside(
    commands.map(([word]) => word),
    terminal,
  );
  const isListed = /^(?:-h|--help)$/.test(words[0] ?? '') || (words.length === 0 && isGroup);
  for (const [word, found] of commands) {
    const heading = isGroup ? entry.headings?.[word] : undefined;
    if (heading !== undefined) parser.commandsGroup(`${heading}:`);
    parser.addCommand(new Parser(word).summary(isListed ? begun((await loaded(found)).summary, room) : ''));
  }
  if (!isGroup) addAction(parser, entry, terminal, outcome);
  const below = textBelow(entry, helpColumns(terminal));
  if (below.length > 0) parser.addHelpText('after', `\n${below.join('\n')}`);
  return parser;
}

function addAction(parser: Parser, command: Command, terminal: Terminal, outcome: { code: number }): void {
  if (command.operands !== undefined) parser.arguments(command.operands);
  const options = Object.entries(command.options).map(([name, option]) => [name, parserOption(name, option)] as const);
  const room = roomBeside(
    options.map(([, { flags }]) => flags),
    terminal,
  );
  for (const [, option] of options) {
    option.description = begun(option.description, room);
    parser.addOption(option);
  }
  parser.allowExcessArguments(false).action(async () => {
    const values: Record<string, Values[string]> = {};
    for (const [name, option] of options) {
      const value = parser.getOptionValue(option.attributeName());
      // The parser reads `--no-open` as `open: false`.
      values[name] = option.negate ? value === false : value;
    }
    // Before anything is sent.
    if ('output' in command.options) formatOf(values);
    outcome.code = (await command.run(terminal, values, parser.args)) ?? EXIT.done;
  });
}

function parserOption(name: string, { help, value, short, group, repeats }: Option): ParserOption {
  const flags = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` <${value}>`}`;
  const option = new ParserOption(flags, help);
  if (value !== undefined) {
    option.argParser((given: string, before?: string | readonly string[]) => {
      if (before !== undefined && repeats !== true) throw new UsageError(`--${name} was given more than once`);
      // An empty value is usually an unset shell variable.
      if (given.trim() === '') throw new UsageError(`--${name} must not be empty`);
      return repeats === true ? [...(before ?? []), given] : given;
    });
  }
  return group === undefined ? option : option.helpGroup(group);
}

function roomBeside(names: readonly string[], terminal: Terminal): number {
  return helpColumns(terminal) - MARGINS - Math.max(...names.map(({ length }) => length));
}

/** Where a text may end before its end: not within brackets, and not in a list of words. */
const ENDS = /; |: | \(|, (?!\S+(?:,|$| or ))/g;

/** A text of one line: all of it, or as many of its parts as have room. */
function begun(text: string, columns: number): string {
  if (text.length <= columns) return text;
  const isOutside = ({ index }: { index: number }) =>
    text.lastIndexOf('(', index - 1) <= text.lastIndexOf(')', index - 1);
  const ends = [...text.matchAll(ENDS)].filter((end) => end.index <= columns && isOutside(end));
  const end = ends.findLast(([mark]) => mark === '; ') ?? ends.at(-1);
  return text.slice(0, end?.index);
}

function textBelow(entry: Group | Command, columns: number): string[] {
  const notes = paragraphs(entry.notes ?? []).flatMap((text) => {
    const [indent = ''] = /^ */.exec(text) ?? [];
    return folded(text.trimStart(), columns - indent.length).map((line) => indent + line);
  });
  if (!('run' in entry)) return notes;
  const examples = entry.examples.slice(0, MOST_EXAMPLES).map((line) => `  ${line}`);
  return [...notes, ...(notes.length === 0 ? [] : ['']), 'Examples:', ...examples];
}

/** Lines of text belong together until one ends with a full stop; an indented one stands alone. */
function paragraphs(lines: readonly string[]): string[] {
  const found: string[] = [];
  for (const line of lines) {
    const before = found.at(-1);
    if (before === undefined || /^ |\.$/.test(before) || /^ /.test(line)) found.push(line);
    else found[found.length - 1] = `${before} ${line}`;
  }
  return found;
}

/** Also catches a mistyped key: an API key must be neither printed nor sent, and other users see the arguments. */
function assertNoKey(args: readonly string[]): void {
  const isKey = (word: string) => inspectApiKey(word).form !== 'foreign';
  if (!args.some((word) => isKey(word) || isKey(word.slice(word.indexOf('=') + 1)))) return;
  throw new UsageError('unexpected API key among the arguments: pass it with --key-file or RDCP_API_KEY');
}
