import { mkdirSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { isIdentifier } from '../../wire/names.ts';
import { shellWords } from '../../wire/shell-words.ts';
import { type Terminal, text, UsageError, type Values } from './command.ts';
import { isAddress, parseObject, wrongField } from './json-text.ts';
import { updateFile } from './private-file.ts';
import { readText } from './read-text.ts';

export interface Profile {
  readonly url: string;
  readonly apiKey?: string;
  readonly token?: string;
  readonly tenant?: string;
  /** PEM: the authorities to trust, the client certificate and its key. Absolute paths. */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly certKeyFile?: string;
}

type Profiles = ReadonlyMap<string, Profile>;

/** Names of services, of other groups (`@name`) and of SRV records, by the name of the group. */
export type Groups = ReadonlyMap<string, readonly string[]>;

interface ProfilesFile {
  readonly profiles: Profiles;
  readonly groups: Groups;
}

const DEFAULT_PROFILE = 'default';

const isCredential = (value: string) => /^[\x21-\x7e]+$/.test(value);
const isPath = (value: string) => value !== '';
const FORMS: Readonly<Record<keyof Profile, (value: string) => boolean>> = {
  url: isAddress,
  apiKey: isCredential,
  token: isCredential,
  tenant: isIdentifier,
  caFile: isPath,
  certFile: isPath,
  certKeyFile: isPath,
};

/** The name that `--profile` or `RDCP_PROFILE` gives, else `default`, or that of the only profile. */
export function profileName({ env }: Terminal, values: Values, profiles: Profiles = new Map()): string {
  const [only] = profiles.size === 1 ? profiles.keys() : [];
  const name = text(values, 'profile') ?? (env.RDCP_PROFILE || (only ?? DEFAULT_PROFILE));
  if (!isIdentifier(name)) throw new UsageError('a profile must be named by 1 to 255 characters of a-z A-Z 0-9 . _ -');
  return name;
}

export interface NamedProfile extends Profile {
  readonly name: string;
}

export function findProfile(terminal: Terminal, values: Values): NamedProfile | undefined {
  const profiles = readProfiles(terminal);
  const name = profileName(terminal, values, profiles);
  const profile = profiles.get(name);
  if (profile !== undefined) return { name, ...profile };
  if (text(values, 'profile') === undefined && (terminal.env.RDCP_PROFILE ?? '') === '') return undefined;
  const known = profiles.size === 0 ? 'there is none yet' : `there are ${[...profiles.keys()].sort().join(', ')}`;
  throw new UsageError(
    `there is no profile '${name}' (${known}): create it with ${shellWords('rdcp', 'login', '--profile', name)}`,
  );
}

export function readProfiles(terminal: Terminal): Profiles {
  return readProfilesFile(terminal).profiles;
}

export function readProfilesFile(terminal: Terminal): ProfilesFile {
  const file = fileOf(terminal, 'profiles.json');
  const stats = file === undefined ? undefined : statsOf(file);
  if (file === undefined || stats === undefined) return { profiles: new Map(), groups: new Map() };
  if (!stats.isFile()) throw new UsageError(`${file} is not a file: move it away and log in again`);
  // The file decides which servers get the credentials, so another user must not have written it. Root may use any file.
  const user = process.getuid?.() ?? 0;
  if (user !== 0 && stats.uid !== user) {
    throw new UsageError(`${file} belongs to another user: run chown, or set XDG_CONFIG_HOME to a folder of your own`);
  }
  if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0) {
    throw new UsageError(`${file} can be read by other users: run chmod 600 ${file}`);
  }
  return parse(readText(file, 'the file of profiles'), file);
}

/** Changes the file of profiles, which is created for this user alone. */
export function updateProfiles(terminal: Terminal, change: (profiles: Map<string, Profile>) => void): Promise<void> {
  const file = fileOf(terminal, 'profiles.json');
  if (file === undefined)
    throw new UsageError('there is no home directory: set XDG_CONFIG_HOME to a folder of your own');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return updateFile(file, (before) => {
    const { profiles: known, groups } = before === '' ? { profiles: [], groups: new Map() } : parse(before, file);
    const profiles = new Map(known);
    change(profiles);
    const content = {
      profiles: Object.fromEntries(profiles),
      ...(groups.size > 0 && { groups: Object.fromEntries(groups) }),
    };
    return `${JSON.stringify(content, undefined, 2)}\n`;
  });
}

/** `undefined` without a home directory. XDG Base Directory Specification: a relative path counts as unset. */
export function fileOf({ env }: Terminal, name: string): string | undefined {
  const { XDG_CONFIG_HOME: configured = '', HOME = '' } = env;
  const home = HOME === '' ? homeOfUser() : HOME;
  const base = isAbsolute(configured) ? configured : home && join(home, '.config');
  return base && join(base, 'rdcp', name);
}

function homeOfUser(): string | undefined {
  try {
    return homedir();
  } catch {
    // The user has no entry in the system's list of users, as in many containers.
    return undefined;
  }
}

function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // In a folder of another user, such as the HOME of root.
    return undefined;
  }
}

function parse(content: string, file: string): ProfilesFile {
  const { profiles, groups = {} } = parseObject(content, file, 'repair it, or remove it and log in again');
  if (typeof profiles !== 'object' || profiles === null) {
    throw new UsageError(`${file} has no profiles: remove it and log in again`);
  }
  const entries = Object.entries(profiles);
  for (const [name, profile] of entries) {
    const field = wrongField(profile, FORMS);
    if (field === undefined) continue;
    throw new UsageError(
      `${file}: '${field}' of profile '${name}' is malformed: run ${shellWords('rdcp', 'login', '--profile', name)}`,
    );
  }
  return { profiles: new Map(entries as [string, Profile][]), groups: groupsOf(groups, file) };
}

function groupsOf(groups: unknown, file: string): Groups {
  const entries = Object.entries(Object(groups));
  const isRight = ([name, members]: [string, unknown]) =>
    isIdentifier(name) &&
    Array.isArray(members) &&
    members.length > 0 &&
    members.every((member) => typeof member === 'string' && isServiceName(member));
  const wrong = entries.find((entry) => !isRight(entry));
  const isObject = typeof groups === 'object' && groups !== null && !Array.isArray(groups);
  if (wrong !== undefined || !isObject) {
    const where = wrong === undefined || !isObject ? "'groups'" : `group '${wrong[0]}'`;
    throw new UsageError(`${file}: ${where} is malformed: a group is a list such as ["shop", "cart", "@payments"]`);
  }
  return new Map(entries as [string, string[]][]);
}

/** A service or an SRV name, or a group, such as `@checkout`. */
export function isServiceName(word: string): boolean {
  return isIdentifier(word.replace(/^@/, ''));
}
