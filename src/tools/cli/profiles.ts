import { mkdirSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { duplicateMember, isObject, parsedJson } from '../../wire/json-text.ts';
import { isIdentifier } from '../../wire/names.ts';
import { shellWords } from '../../wire/shell-words.ts';
import { type Terminal, text, UsageError, type Values } from './command.ts';
import { readText } from './options.ts';
import { updateFile } from './private-file.ts';

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
  const name = text(values, 'profile') ?? (env.RDCP_PROFILE || (only ?? 'default'));
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

export function readProfilesFile(terminal: Terminal): ReturnType<typeof parse> {
  const file = fileOf(terminal, 'profiles.json');
  const stats = file === undefined ? undefined : statsOf(file);
  if (file === undefined || stats === undefined) return { profiles: new Map(), groups: new Map() };
  if (!stats.isFile()) throw new UsageError(`${file} is not a file: move it away and log in again`);
  // The file decides which servers get the credentials, so another user must not have written it.
  if (isOfAnother(stats)) {
    throw new UsageError(`${file} belongs to another user: run chown, or set XDG_CONFIG_HOME to a folder of your own`);
  }
  if (admits(stats, 0o077)) throw new UsageError(`${file} can be read by other users: run chmod 600 ${file}`);
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
function fileOf({ env }: Terminal, name: string): string | undefined {
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

function parse(content: string, file: string) {
  const { profiles, groups = {} } = parseObject(content, file, 'repair it, or remove it and log in again');
  if (!isObject(profiles)) throw new UsageError(`${file} has no profiles: remove it and log in again`);
  for (const [name, profile] of Object.entries(profiles)) {
    const field = wrongField(profile, FORMS);
    if (field === undefined) continue;
    throw new UsageError(
      `${file}: '${field}' of profile '${name}' is malformed: run ${shellWords('rdcp', 'login', '--profile', name)}`,
    );
  }
  return { profiles: new Map(Object.entries(profiles as Record<string, Profile>)), groups: groupsOf(groups, file) };
}

/** Names of services, of other groups (`@name`) and of SRV records, by the name of the group. */
function groupsOf(groups: unknown, file: string): ReadonlyMap<string, readonly string[]> {
  const entries = isObject(groups) ? Object.entries(groups) : undefined;
  const isRight = ([name, members]: [string, unknown]) =>
    isIdentifier(name) &&
    Array.isArray(members) &&
    members.length > 0 &&
    members.every((member) => typeof member === 'string' && isServiceName(member));
  const wrong = entries?.find((entry) => !isRight(entry));
  if (entries === undefined || wrong !== undefined) {
    const where = wrong === undefined ? "'groups'" : `group '${wrong[0]}'`;
    throw new UsageError(`${file}: ${where} is malformed: a group is a list such as ["shop", "cart", "@payments"]`);
  }
  return new Map(entries as [string, string[]][]);
}

/** A service or an SRV name, or a group, such as `@checkout`. */
export function isServiceName(word: string): boolean {
  return isIdentifier(word.replace(/^@/, ''));
}

/** The object in a file that people edit. @param otherwise what to do about one that is not JSON @throws {UsageError} */
function parseObject(content: string, file: string, otherwise: string): Readonly<Record<string, unknown>> {
  const value = parsedJson(content);
  if (value === undefined) throw new UsageError(`${file} is not JSON: ${otherwise}`);
  const twice = duplicateMember(content);
  if (twice !== undefined) throw new UsageError(`${file} has '${twice}' twice: keep one of them`);
  return Object(value);
}

function isAddress(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}

function wrongField(service: unknown, forms: Readonly<Record<string, (value: string) => boolean>>): string | undefined {
  if (!Object.hasOwn(Object(service), 'url')) return 'url';
  const isRight = (name: string, value: unknown) =>
    Object.hasOwn(forms, name) && typeof value === 'string' && forms[name]?.(value) === true;
  return Object.entries(Object(service)).find(([name, value]) => !isRight(name, value))?.[0];
}

const LISTED = '{ "services": { "shop": { "url": "https://shop.internal:9465", "tenant": "acme" } } }';

/** Services as a platform lists them, without credentials: those of `RDCP_SERVICES_FILE`, else of `services.json` beside the profiles. */
export function readServicesFile(terminal: Terminal): ReadonlyMap<string, Pick<Profile, 'url' | 'tenant'>> {
  const given = terminal.env.RDCP_SERVICES_FILE ?? '';
  const file = given === '' ? fileOf(terminal, 'services.json') : given;
  const stats = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false });
  if (file === undefined || (stats === undefined && given === '')) return new Map();
  // The file decides which servers get the key of RDCP_API_KEY, so no other user but root may write it.
  if (stats !== undefined && ((stats.uid !== 0 && isOfAnother(stats)) || (stats.isFile() && admits(stats, 0o022)))) {
    throw new UsageError(`${file} can be written by other users: run chown and chmod 644 ${file}`);
  }
  const { services } = parseObject(readText(file, 'the file of services'), file, `it must be such as ${LISTED}`);
  if (!isObject(services)) throw new UsageError(`${file} has no services: it must be such as ${LISTED}`);
  for (const [name, service] of Object.entries(services)) {
    if (!isIdentifier(name)) throw new UsageError(`${file}: '${name}' is no name: use a-z A-Z 0-9 . _ -`);
    const field = wrongField(service, { url: isAddress, tenant: isIdentifier });
    if (field === undefined) continue;
    throw new UsageError(`${file}: '${field}' of service '${name}' is malformed: it must be such as ${LISTED}`);
  }
  return new Map(Object.entries(services as Record<string, Profile>));
}

/** Root may use any file. */
function isOfAnother({ uid }: Stats): boolean {
  const user = process.getuid?.() ?? 0;
  return user !== 0 && uid !== user;
}

function admits({ mode }: Stats, others: number): boolean {
  return process.platform !== 'win32' && (mode & others) !== 0;
}
