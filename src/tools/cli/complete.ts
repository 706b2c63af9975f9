import { parseArgs } from 'node:util';
import { isCategoryName, isIdentifier } from '../../wire/names.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import {
  type Command,
  type Commands,
  type Completion,
  commandsOf,
  type Group,
  loaded,
  reached,
  type Terminal,
  type Values,
} from './command.ts';
import { type Access, accessOf, clientOf } from './connection.ts';
import { readProfiles } from './profiles.ts';
import { chosenServices, serviceNames, servicesLast } from './services.ts';

const FILES = ':files';
/** Time limit for the service's answer: a shell waits for it, in milliseconds. */
const PATIENCE_MS = 700;

interface Candidate {
  readonly text: string;
  readonly help: string;
}

/** Prints completions of the last word, one a line, each with its meaning after a tab. Never fails: without an answer the list is empty. */
export async function complete(root: Group, words: readonly string[], terminal: Terminal): Promise<string[]> {
  try {
    return await candidates(root, words, { ...terminal, note: () => undefined });
  } catch {
    return [];
  }
}

async function candidates(root: Group, words: readonly string[], terminal: Terminal): Promise<string[]> {
  const before = servicesLast(words.slice(0, -1));
  const current = words.at(-1) ?? '';
  const { entry, rest } = await reached(root, before);
  if (!('run' in entry)) return lines(await named(commandsOf(entry)), current);
  const { values, operands, open, ended } = parsed(entry, rest);
  const [, name = '', started = ''] = /^--([\w-]+)=(.*)$/.exec(current) ?? [];
  const option = open ?? (ended ? undefined : entry.options[name]);
  if (option !== undefined) {
    const completion = option.completes ?? (option.value === 'FILE' ? 'files' : undefined);
    const [prefix, typed] = open === undefined ? [`--${name}=`, started] : ['', current];
    const found = await offered(completion, { terminal, values, current: typed });
    if (found === 'files') return [FILES];
    return lines(
      found.map(({ text, help }) => ({ text: prefix + text, help })),
      current,
    );
  }
  if (current.startsWith('-') && !ended) {
    const own = Object.entries({ ...entry.options, help: { help: 'show its use' } });
    return lines(
      own.map(([name, { help }]) => ({ text: `--${name}`, help })),
      current,
    );
  }
  const found = await offered(entry.completes, { terminal, values, current });
  if (found === 'files') return [FILES];
  const subcommands = operands.length === 0 ? await named(commandsOf(entry)) : [];
  return lines([...subcommands, ...found.filter(({ text }) => !operands.includes(text))], current);
}

/** @returns with `open` the option whose value is being typed, with `ended` whether `--` has ended the options */
function parsed({ options }: Command, words: readonly string[]) {
  const forms = Object.entries(options).map(([name, { value, short }]) => [
    name,
    { type: value === undefined ? 'boolean' : 'string', ...(short !== undefined && { short }) } as const,
  ]);
  const { values, positionals, tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(forms),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const last = tokens.at(-1);
  const named = last?.kind === 'option' && last.value === undefined ? options[last.name] : undefined;
  return {
    values: values as Values,
    operands: positionals.map((word) => word.toUpperCase()),
    open: named?.value === undefined ? undefined : named,
    ended: tokens.some(({ kind }) => kind === 'option-terminator'),
  };
}

async function named(commands: Commands): Promise<Candidate[]> {
  const found = Object.entries(commands).map(async ([text, each]) => {
    return { text, help: (await loaded(each)).summary };
  });
  return Promise.all(found);
}

/** Names of the service are offered only in their form: a shell runs what it is given. */
async function offered(
  completion: Completion | undefined,
  { terminal, values, current }: { readonly terminal: Terminal; readonly values: Values; readonly current: string },
): Promise<Candidate[] | 'files'> {
  if (completion === undefined) return [];
  if (completion === 'files') return 'files';
  const signal = AbortSignal.timeout(PATIENCE_MS);
  if (completion === 'categories') {
    const { categories } = await clientOf(terminal, await accessOfFirst(terminal, values)).discovery({ signal });
    const lower = current !== '' && current === current.toLowerCase();
    return categories
      .filter(({ name }) => isCategoryName(name))
      .map(({ name, description }) => ({ text: lower ? name.toLowerCase() : name, help: description }));
  }
  if (completion === 'tenants') {
    const access = await accessOfFirst(terminal, { ...values, tenant: undefined });
    const { tenants } = await clientOf(terminal, { ...access, tenantId: undefined }).tenants({ signal });
    return tenants.filter(({ id }) => isIdentifier(id)).map(({ id, name = '' }) => ({ text: id, help: name }));
  }
  if (completion === 'processes') {
    const { instances } = await clientOf(terminal, await accessOfFirst(terminal, values)).fleet({ signal });
    return instances
      .filter(({ host }) => isIdentifier(host))
      .map(({ host, pid, service }) => ({ text: `${host}:${pid}`, help: service }));
  }
  if (completion === 'services') {
    // Of a list the last name is being typed.
    const before = current.slice(0, current.lastIndexOf(',') + 1);
    return serviceNames(terminal).map((text) => ({ text: before + text, help: '' }));
  }
  const words = completion === 'profiles' ? [...readProfiles(terminal).keys()] : completion;
  return words.map((text) => ({ text, help: '' }));
}

/** Of several services the first is asked for what can be typed. */
async function accessOfFirst(terminal: Terminal, values: Values): Promise<Access> {
  const chosen = await chosenServices(terminal, values);
  return accessOf(terminal, 'only' in chosen ? chosen.only : (chosen.each[0]?.values ?? {}));
}

function lines(found: readonly Candidate[], current: string): string[] {
  return found
    .filter(({ text }) => text.startsWith(current))
    .map(({ text, help }) => `${text}\t${escapeUnprintable(help.replace(/\s+/g, ' '))}`);
}
