import { mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { isIdentifier } from '../protocol/names.ts';
import { type Terminal, text, UsageError, type Values } from './command.ts';
import { updateFile } from './private-file.ts';
import { readText } from './read-text.ts';

/** A service, and how to get in. */
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

/** The profile that is used where none is named. */
const DEFAULT_PROFILE = 'default';

const isCredential = (value: string) => /^[\x21-\x7e]+$/.test(value);
const isPath = (value: string) => value !== '';
const FORMS: Readonly<Record<keyof Profile, (value: string) => boolean>> = {
  url: (value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''),
  apiKey: isCredential,
  token: isCredential,
  tenant: isIdentifier,
  caFile: isPath,
  certFile: isPath,
  certKeyFile: isPath,
};

/** The name that `--profile` or `RDCP_PROFILE` gives. */
export function profileName({ env }: Terminal, values: Values): string {
  const name = text(values, 'profile') ?? (env.RDCP_PROFILE || DEFAULT_PROFILE);
  if (!isIdentifier(name)) throw new UsageError('a profile must be named by 1 to 255 characters of a-z A-Z 0-9 . _ -');
  return name;
}

/** @throws {UsageError} when a profile was named that does not exist */
export function findProfile(terminal: Terminal, values: Values): Profile | undefined {
  const name = profileName(terminal, values);
  const profiles = readProfiles(terminal);
  const found = profiles.get(name);
  const named = text(values, 'profile') !== undefined || (terminal.env.RDCP_PROFILE ?? '') !== '';
  if (found !== undefined || !named) return found;
  const known = profiles.size === 0 ? 'there is none yet' : `there are ${[...profiles.keys()].sort().join(', ')}`;
  throw new UsageError(`there is no profile '${name}' (${known}): make it with 'rdcp login --profile ${name}'`);
}

export function readProfiles(terminal: Terminal): Profiles {
  const file = fileOf(terminal);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return new Map();
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
  const file = fileOf(terminal);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return updateFile(file, (before) => {
    const profiles = new Map(before === '' ? [] : parse(before, file));
    change(profiles);
    return `${JSON.stringify({ profiles: Object.fromEntries(profiles) }, undefined, 2)}\n`;
  });
}

/** XDG Base Directory Specification: a relative path counts as unset. */
function fileOf({ env }: Terminal): string {
  const { XDG_CONFIG_HOME: configured = '', HOME: home = '' } = env;
  const base = isAbsolute(configured) ? configured : join(home === '' ? homedir() : home, '.config');
  return join(base, 'rdcp', 'profiles.json');
}

function parse(content: string, file: string): Profiles {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new UsageError(`${file} is not JSON: mend it, or remove it and log in again`);
  }
  const { profiles } = Object(value) as { profiles?: unknown };
  if (typeof profiles !== 'object' || profiles === null) {
    throw new UsageError(`${file} has no profiles: remove it and log in again`);
  }
  const entries = Object.entries(profiles);
  for (const [name, profile] of entries) {
    const field = wrongField(profile);
    if (field === undefined) continue;
    throw new UsageError(`${file}: '${field}' of profile '${name}' is malformed: run rdcp login --profile ${name}`);
  }
  return new Map(entries as [string, Profile][]);
}

/** Name of the first field that is not as `rdcp login` writes it. */
function wrongField(profile: unknown): string | undefined {
  const fields: [string, unknown][] = Object.entries(Object(profile));
  if (!Object.hasOwn(Object(profile), 'url')) return 'url';
  const isRight = ([name, value]: [string, unknown]) =>
    Object.hasOwn(FORMS, name) && typeof value === 'string' && FORMS[name as keyof Profile](value);
  return fields.find((field) => !isRight(field))?.[0];
}
