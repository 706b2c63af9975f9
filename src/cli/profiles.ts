import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { isIdentifier } from '../protocol/names.ts';
import { type Terminal, text, UsageError, type Values } from './command.ts';
import { updateFile } from './private-file.ts';

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

const FIELDS = {
  url: true,
  apiKey: true,
  token: true,
  tenant: true,
  caFile: true,
  certFile: true,
  certKeyFile: true,
} as const satisfies Record<keyof Profile, true>;

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
  if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0) {
    throw new UsageError(`${file} can be read by other users: run chmod 600 ${file}`);
  }
  return parse(readFileSync(file, 'utf8'), file);
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
  const entries = Object.entries(Object(profiles));
  const wrong = entries.find(([, profile]) => !isProfile(profile));
  if (typeof profiles !== 'object' || wrong !== undefined) {
    throw new UsageError(
      `${file}: ${wrong === undefined ? 'it has no profiles' : `profile '${wrong[0]}' is malformed`}`,
    );
  }
  return new Map(entries as [string, Profile][]);
}

function isProfile(value: unknown): value is Profile {
  const fields = Object.entries(Object(value));
  return (
    fields.some(([name]) => name === 'url') &&
    fields.every(([name, each]) => Object.hasOwn(FIELDS, name) && typeof each === 'string')
  );
}
