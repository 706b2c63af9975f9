import { statSync } from 'node:fs';
import { isIdentifier } from '../../wire/names.ts';
import { type Terminal, UsageError } from './command.ts';
import { isAddress, parseObject, wrongField } from './json-text.ts';
import { fileOf } from './profiles.ts';
import { readText } from './read-text.ts';

/** A service as a platform lists it: no credential. */
export interface ListedService {
  readonly url: string;
  readonly tenant?: string;
}

const FORMS = { url: isAddress, tenant: isIdentifier };
const FORM = '{ "services": { "shop": { "url": "https://shop.internal:9465", "tenant": "acme" } } }';

/** Those of `RDCP_SERVICES_FILE`, else of `services.json` beside the profiles. */
export function readServicesFile(terminal: Terminal): ReadonlyMap<string, ListedService> {
  const given = terminal.env.RDCP_SERVICES_FILE ?? '';
  const file = given === '' ? fileOf(terminal, 'services.json') : given;
  if (file === undefined || !isThere(file, given !== '')) return new Map();
  return parse(readText(file, 'the file of services'), file);
}

/** @param named whether the operator named the file, so that it must exist */
function isThere(file: string, named: boolean): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return named;
  // The file decides which servers get the key of RDCP_API_KEY, so no other user but root may write it.
  const user = process.getuid?.() ?? 0;
  const isForeign = user !== 0 && stats.uid !== 0 && stats.uid !== user;
  if (isForeign || (process.platform !== 'win32' && stats.isFile() && (stats.mode & 0o022) !== 0)) {
    throw new UsageError(`${file} can be written by other users: run chown and chmod 644 ${file}`);
  }
  return true;
}

function parse(content: string, file: string): ReadonlyMap<string, ListedService> {
  const { services } = parseObject(content, file, `it must be such as ${FORM}`);
  if (typeof services !== 'object' || services === null || Array.isArray(services)) {
    throw new UsageError(`${file} has no services: it must be such as ${FORM}`);
  }
  const entries = Object.entries(services);
  for (const [name, service] of entries) {
    if (!isIdentifier(name)) throw new UsageError(`${file}: '${name}' is no name: use a-z A-Z 0-9 . _ -`);
    const field = wrongField(service, FORMS);
    if (field === undefined) continue;
    throw new UsageError(`${file}: '${field}' of service '${name}' is malformed: it must be such as ${FORM}`);
  }
  return new Map(entries as [string, ListedService][]);
}
