import { setTimeout as sleep } from 'node:timers/promises';
import { failureCode, RdcpError } from '../../wire/errors.ts';
import { isLoopback } from '../../wire/net/hosts.ts';
import { nameSome } from '../../wire/printable.ts';
import { messageOf } from '../../wire/thrown.ts';
import { grouped, type Terminal, text, UsageError, type Values } from './command.ts';
import { accessOf, assertAddress, CONNECTION, isSameService } from './connection.ts';
import { isServiceName, readProfilesFile, readServicesFile } from './profiles.ts';

/** How often a command that runs on reads again which services there are. */
const REFRESH_MS = 2000;

export const SERVICE_OPTIONS = grouped(CONNECTION, {
  service: {
    short: 's',
    value: 'A,B',
    completes: 'services',
    help: 'these services, by name, @group or SRV name of DNS (profiles, services.json, _rdcp._tcp.example.com)',
  },
  'all-services': { help: 'every profile, and every service of services.json' },
});

export interface Service extends Pick<KnownService, 'name' | 'url' | 'problem'> {
  /** The options of the command, with which it asks this service alone. */
  readonly values: Values;
  /** Filled when the service is asked; see {@link Terminal.sources}. */
  readonly sources: Terminal['sources'];
}

/** The options of a command for one service, or the services to ask. */
export type Chosen = { readonly only: Values } | { readonly each: readonly Service[] };

/** One name chooses one service, as `--profile` does; several names, a group, an SRV name or `--all-services` several, even if one. */
export async function chosenServices(terminal: Terminal, values: Values): Promise<Chosen> {
  const { service, 'all-services': all, ...others } = values;
  const given = text(values, 'service');
  if (given === undefined && all !== true) return { only: values };
  const other = ['profile', 'url'].find((name) => values[name] !== undefined);
  const chooses = given === undefined ? '--all-services' : '--service';
  if (other !== undefined) throw new UsageError(`${chooses} cannot be combined with --${other}`);
  if (given !== undefined && all === true) throw new UsageError('--all-services cannot be combined with --service');
  const catalogue = catalogueOf(terminal);
  const words = given === undefined ? [...catalogue.services.keys()] : given.split(',').map((word) => word.trim());
  if (words.length === 0) throw new UsageError(`--all-services: there is none yet: 'rdcp login' adds one`);
  const found = (await Promise.all(words.map((word) => expanded(terminal, catalogue, word)))).flat();
  const [only, more] = catalogue.services.get(given ?? '') ?? [];
  if (only !== undefined && more === undefined) return { only: { ...others, ...only.selecting, ...tenantOf(values) } };
  return { each: checked(terminal, others, distinct(found, text(values, 'tenant'))) };
}

export function serviceNames(terminal: Terminal): string[] {
  const { services, groups } = catalogueOf(terminal);
  return [...services.keys(), ...[...groups.keys()].map((name) => `@${name}`)];
}

/** `-s shop tail DATABASE` is `tail -s shop DATABASE`: which services there are may be said first. */
export function servicesLast(words: readonly string[]): readonly string[] {
  const [first = '', second = ''] = words;
  const length =
    first === '-s' || first === '--service' ? 2 : /^(?:-s.+|--service=.*|--all-services)$/.test(first) ? 1 : 0;
  const [command, ...rest] = words.slice(length);
  if (length === 0 || command === undefined) return words;
  return [command, ...(length === 2 ? [first, second] : [first]), ...rest];
}

/** The services, read again and again until the signal. A problem is noted once, and the services of before stay. */
export async function* servicesAgain(
  terminal: Terminal,
  values: Values,
  signal: AbortSignal,
): AsyncGenerator<readonly Service[], void> {
  let noted = '';
  for (;;) {
    await sleep(REFRESH_MS, undefined, { signal });
    try {
      const chosen = await chosenServices(terminal, values);
      noted = '';
      if ('each' in chosen) yield chosen.each;
    } catch (error) {
      const message = messageOf(error);
      if (message !== noted) terminal.note(`rdcp: ${message}; the services stay as they were`);
      noted = message;
    }
  }
}

interface KnownService {
  readonly name: string;
  readonly url: string;
  readonly tenant?: string | undefined;
  readonly selecting: Values;
  readonly problem?: unknown;
}

type Catalogue = ReturnType<typeof catalogueOf>;

function catalogueOf(terminal: Terminal) {
  const { profiles, groups } = readProfilesFile(terminal);
  /** By name. More than one where the profiles and the platform's file disagree. */
  const services = new Map<string, KnownService[]>();
  for (const [name, { url, tenant }] of profiles) {
    services.set(name, [{ name, url, tenant, selecting: { profile: name } }]);
  }
  for (const [name, { url, tenant }] of readServicesFile(terminal)) {
    const before = services.get(name) ?? [];
    if (before.some((other) => isSameService(other.url, url))) continue;
    // A profile's credential goes to the profile's address alone.
    const [profile] = [...profiles].find(([, own]) => isSameService(own.url, url)) ?? [];
    const selecting = { url, ...(profile !== undefined && { profile }), ...(tenant !== undefined && { tenant }) };
    services.set(name, [...before, { name, url, tenant, selecting }]);
  }
  return { services, groups };
}

/** The services that a word stands for. @param within the groups that it was found in */
async function expanded(
  terminal: Terminal,
  catalogue: Catalogue,
  word: string,
  within: readonly string[] = [],
): Promise<readonly KnownService[]> {
  if (!isServiceName(word)) {
    throw new UsageError(`--service must be names such as shop,cart or @checkout, not '${word}'`);
  }
  if (within.includes(word)) throw new UsageError(`groups in a circle: ${[...within, word].join(' > ')}`);
  if (word.startsWith('@')) {
    const members = catalogue.groups.get(word.slice(1));
    if (members === undefined) throw unknown('group', word, catalogue);
    const found = members.map((member) => expanded(terminal, catalogue, member, [...within, word]));
    return (await Promise.all(found)).flat();
  }
  if (/^_[^.]+\._tcp\../.test(word)) return discovered(terminal, word);
  const found = catalogue.services.get(word);
  if (found === undefined) throw unknown('service', word, catalogue);
  return found;
}

function unknown(what: 'service' | 'group', word: string, { services, groups }: Catalogue): UsageError {
  const known = what === 'service' ? [...services.keys()] : [...groups.keys()].map((name) => `@${name}`);
  const there = known.length === 0 ? 'there is none yet' : `there are ${nameSome(known.sort())}`;
  const how =
    what === 'service' ? "'rdcp login' with --profile adds one" : "the file of profiles has them, in 'groups'";
  return new UsageError(`there is no ${what} '${word}' (${there}): ${how}`);
}

/** The addresses of an SRV name (RFC 2782). HTTPS, as RDCP 1.0 demands, except on loopback and where the name is that of a plain port, `_http._tcp`. */
async function discovered(terminal: Terminal, srv: string): Promise<readonly KnownService[]> {
  const isPlain = srv.startsWith('_http.');
  const missing = (message: string, cause?: unknown): KnownService => {
    const problem = new RdcpError('RDCP_UNAVAILABLE', message, { cause });
    return { name: srv, url: srv, selecting: {}, problem };
  };
  let targets: Awaited<ReturnType<Terminal['resolveSrv']>>;
  try {
    targets = await terminal.resolveSrv(srv);
  } catch (cause) {
    return [missing(`DNS has no SRV records of ${srv}${failureCode(cause)}`, cause)];
  }
  const hosts = targets.map(({ name, port }) => ({ host: name.replace(/\.$/, '').toLowerCase(), port }));
  const firsts = hosts.map(({ host }) => host.split('.', 1)[0] ?? host);
  return hosts.map(({ host, port }, at): KnownService => {
    // RFC 2782: this target means that the service is not there.
    if (!/^[\w-]+(?:\.[\w-]+)*$/.test(host)) return missing(`DNS names no host for ${srv}`);
    const name = new Set(firsts).size === hosts.length ? (firsts[at] ?? host) : `${host}:${port}`;
    const url = `${isPlain || isLoopback(host) ? 'http' : 'https'}://${host}:${port}`;
    return { name, url, selecting: { url } };
  });
}

/** Each service once. @throws {UsageError} for two services of one name, and for one service with two names */
function distinct(found: readonly KnownService[], tenant: string | undefined): readonly KnownService[] {
  const byName = new Map<string, KnownService>();
  const byPlace = new Map<string, string>();
  for (const known of found) {
    const same = byName.get(known.name);
    if (same !== undefined) {
      if (isSameService(same.url, known.url)) continue;
      throw new UsageError(
        `two services are named ${known.name}, with different addresses: rename the profile, or the other in services.json`,
      );
    }
    byName.set(known.name, known);
    const { origin = known.url, pathname = '' } = URL.parse(known.url) ?? {};
    const place = `${origin}${pathname} ${tenant ?? known.tenant ?? ''}`;
    const other = byPlace.get(place);
    if (other !== undefined) throw new UsageError(`${other} and ${known.name} are one service: name one of them`);
    byPlace.set(place, known.name);
  }
  return [...byName.values()];
}

/** Checks the services before anything is sent, so that the others can go on. @throws the problem, where every service has one */
function checked(terminal: Terminal, values: Values, found: readonly KnownService[]): readonly Service[] {
  const services = found.map(({ name, url, selecting, problem }): Service => {
    const service = { name, url, values: { ...values, ...selecting, ...tenantOf(values) }, sources: {} };
    try {
      if (problem !== undefined) throw problem;
      assertAddress(accessOf({ ...terminal, sources: {} }, service.values).url);
      return service;
    } catch (error) {
      return { ...service, problem: error };
    }
  });
  if (services.every(({ problem }) => problem !== undefined)) throw services[0]?.problem;
  return services;
}

/** The option `--tenant` comes before the tenant of a service. */
function tenantOf({ tenant }: Values): Values {
  return tenant === undefined ? {} : { tenant };
}
