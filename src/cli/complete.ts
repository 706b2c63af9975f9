import { escapeUnprintable } from '../printable.ts';
import { isCategoryName } from '../protocol/names.ts';
import type { Command, Commands, Completion, Group, Option, Terminal, Values } from './command.ts';
import { accessOf, clientOf } from './connection.ts';
import { readProfiles } from './profiles.ts';

/** Printed alone where the shell should offer files. */
const FILES = ':files';
/** A shell waits for this. */
const PATIENCE_MS = 700;

interface Candidate {
  readonly text: string;
  readonly help: string;
}

/**
 * What may stand in place of the last word, one candidate a line, with its meaning after a tab. Never fails, and says
 * nothing where it knows nothing.
 * @param words the words after the program's name; the last one is being typed
 */
export async function complete(root: Group, words: readonly string[], terminal: Terminal): Promise<string[]> {
  try {
    return await candidates(root, words, { ...terminal, note: () => undefined });
  } catch {
    return [];
  }
}

async function candidates(root: Group, words: readonly string[], terminal: Terminal): Promise<string[]> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { entry, rest } = await reached(root, before);
  if (!('run' in entry)) return lines(await named(entry.commands), current);
  const { values, operands, open, ended } = parsed(entry, rest);
  const [, name = '', started = ''] = /^--([\w-]+)=(.*)$/.exec(current) ?? [];
  const option = open ?? (ended ? undefined : entry.options[name]);
  if (option !== undefined) {
    const found = await offered(option.completes ?? (option.value === 'FILE' ? 'files' : undefined), {
      terminal,
      values,
      current: open === undefined ? started : current,
    });
    return found === 'files' ? [FILES] : lines(prefixed(found, open === undefined ? `--${name}=` : ''), current);
  }
  if (current.startsWith('-') && !ended) return lines(optionsOf(entry), current);
  const found = await offered(entry.completes, { terminal, values, current });
  if (found === 'files') return [FILES];
  const subcommands = operands.length === 0 ? await named(entry.subcommands ?? {}) : [];
  return lines([...subcommands, ...found.filter(({ text }) => !operands.includes(text))], current);
}

/** The command that the words name, and the words after its name. */
async function reached(root: Group, words: readonly string[]) {
  let entry: Group | Command = root;
  let rest = words;
  for (;;) {
    const commands: Commands = ('run' in entry ? entry.subcommands : entry.commands) ?? {};
    const [word = ''] = rest;
    if (!Object.hasOwn(commands, word)) return { entry, rest };
    const found = commands[word] as Commands[string];
    entry = 'commands' in found ? found : await found();
    rest = rest.slice(1);
  }
}

/** @returns with `open` the option whose value is being typed, with `ended` whether `--` has ended the options */
function parsed({ options }: Command, words: readonly string[]) {
  const values: Record<string, string | boolean> = {};
  const operands: string[] = [];
  let open: readonly [string, Option] | undefined;
  let ended = false;
  for (const word of words) {
    if (ended) operands.push(word.toUpperCase());
    else if (open !== undefined) {
      values[open[0]] = word;
      open = undefined;
    } else if (word === '--') ended = true;
    else if (word.startsWith('-')) {
      const [flag = '', ...value] = word.split('=');
      const found = Object.entries(options).find(([name, { short }]) => flag === `--${name}` || flag === `-${short}`);
      if (found?.[1].type === 'boolean') values[found[0]] = true;
      else if (found !== undefined && value.length > 0) values[found[0]] = value.join('=');
      else open = found;
    } else operands.push(word.toUpperCase());
  }
  return { values, operands, open: open?.[1], ended };
}

async function named(commands: Commands): Promise<Candidate[]> {
  const found = Object.entries(commands).map(async ([text, each]) => {
    const { summary } = 'commands' in each ? each : await each();
    return { text, help: summary };
  });
  return Promise.all(found);
}

function optionsOf({ options }: Command): Candidate[] {
  const own = Object.entries(options).map(([name, { help }]) => ({ text: `--${name}`, help }));
  return [...own, { text: '--help', help: 'show its use' }];
}

interface Asked {
  readonly terminal: Terminal;
  readonly values: Values;
  readonly current: string;
}

async function offered(completion: Completion | undefined, asked: Asked): Promise<Candidate[] | 'files'> {
  if (completion === undefined) return [];
  if (completion === 'files') return 'files';
  if (completion === 'categories') return categories(asked);
  const words = completion === 'profiles' ? [...readProfiles(asked.terminal).keys()] : completion;
  return words.map((text) => ({ text, help: '' }));
}

/** Of the service that the other words name. A name that is none is not offered: the shell would run it. */
async function categories({ terminal, values, current }: Asked): Promise<Candidate[]> {
  const client = clientOf(terminal, accessOf(terminal, values));
  const answer = await client.discovery({ signal: AbortSignal.timeout(PATIENCE_MS) });
  const known = answer.categories.filter(({ name }) => isCategoryName(name));
  const lower = current !== '' && current === current.toLowerCase();
  return known.map(({ name, description }) => ({ text: lower ? name.toLowerCase() : name, help: description }));
}

function prefixed(found: readonly Candidate[], prefix: string): Candidate[] {
  return found.map(({ text, help }) => ({ text: prefix + text, help }));
}

function lines(found: readonly Candidate[], current: string): string[] {
  return found
    .filter(({ text }) => text.startsWith(current))
    .map(({ text, help }) => `${text}\t${escapeUnprintable(help.replace(/\s+/g, ' '))}`);
}
