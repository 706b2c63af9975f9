// `npm run document` writes src/otel/semconv.ts and the tables of docs/telemetry.md from docs/semconv/, a registry of semantic
// conventions for OpenTelemetry's Weaver (https://github.com/open-telemetry/weaver). This runs before the build, which needs the names.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const FOLDER = join(import.meta.dirname, 'semconv');

/** An attribute that a group defines. */
interface Attribute {
  readonly id: string;
  readonly brief: string;
  readonly type: string | { readonly members: readonly { readonly value: string }[] };
}

/** An attribute of ours or of OpenTelemetry that a group has. */
interface Reference {
  readonly ref: string;
  readonly brief?: string;
  readonly note?: string;
}

interface Group {
  readonly id: string;
  readonly type: 'attribute_group' | 'metric' | 'event' | 'span';
  readonly brief: string;
  readonly display_name?: string;
  readonly name?: string;
  readonly metric_name?: string;
  readonly instrument?: string;
  readonly unit?: string;
  readonly attributes?: readonly (Attribute | Reference)[];
}

/** Every group of the registry. */
export function registry(): readonly Group[] {
  const files = globSync('*.yaml', { cwd: FOLDER }).filter((file) => file !== 'registry_manifest.yaml');
  return files.sort().flatMap((file) => parse(readFileSync(join(FOLDER, file), 'utf8')).groups as readonly Group[]);
}

export const attributesOf = (groups: readonly Group[]) =>
  groups.flatMap(({ attributes = [] }) => attributes.filter((each) => 'id' in each));
export const referencesOf = ({ attributes = [] }: Group) => attributes.filter((each) => 'ref' in each);

/** The text of src/otel/semconv.ts: names alone, whose meaning is in the registry. */
export function semconvModule(groups: readonly Group[]): string {
  const own = attributesOf(groups);
  const constants = [
    ...groups.flatMap(({ metric_name: name }) => (name === undefined ? [] : constant('METRIC', name))),
    '',
    ...own.map(({ id }) => constant('ATTR', id)),
    '',
    ...groups.flatMap(({ type, name }) => (type === 'event' && name !== undefined ? constant('EVENT', name) : [])),
    '',
    '// Names of the OpenTelemetry semantic conventions, preferred to our own.',
    ...foreign(groups, own).map(([name]) => constant('ATTR', name)),
  ];
  return ['// Written by `npm run document` from docs/semconv/.', '', ...constants, ''].join('\n');
}

/** Attributes that others define, each with what it is here. */
function foreign(groups: readonly Group[], own: readonly Attribute[]): (readonly [name: string, brief: string])[] {
  const known = new Set(own.map(({ id }) => id));
  const others = groups.flatMap(referencesOf).filter(({ ref }) => !known.has(ref));
  return others.map(({ ref, brief = '' }) => [ref, brief] as const);
}

function constant(kind: string, name: string): string {
  const words = name
    .replace(/^rdcp\./, '')
    .replaceAll('.', '_')
    .toUpperCase();
  return `export const ${kind}_${words} = '${name}';`;
}

/** The table of metrics. */
export function metricsTable(groups: readonly Group[]): string {
  const rows = groups.flatMap((group) => {
    const { metric_name: name, instrument = '', unit = '', brief } = group;
    if (name === undefined) return [];
    const kind = instrument === 'updowncounter' ? 'up-down counter' : instrument;
    const series = `${name.replaceAll('.', '_')}${kind === 'counter' ? '_total' : ''}`;
    const attributes = referencesOf(group).map(({ ref, note }) => `\`${ref}\`${note === undefined ? '' : ` ${note}`}`);
    return [[`\`${name}\``, `${kind}, \`${unit}\`: ${shown(brief)}`, attributes.join(', '), `\`${series}\``]];
  });
  return table(['metric', 'kind, unit', 'attributes', 'in Prometheus'], rows);
}

/** The table of attributes, with what has each. */
export function attributesTable(groups: readonly Group[]): string {
  const own = attributesOf(groups);
  const all = [...own.map((each) => [each.id, meaningOf(each)] as const), ...foreign(groups, own)];
  const rows = all.map(([name, value]) => {
    const having = groups.filter((group) => referencesOf(group).some(({ ref }) => ref === name));
    return [`\`${name}\``, having.map(subjectOf).join(', '), shown(value)];
  });
  return table(['attribute', 'on', 'value'], rows);
}

function subjectOf({ display_name: shown, metric_name: metric, name }: Group): string {
  return shown ?? `\`${metric ?? name}\``;
}

function meaningOf({ brief, type }: Attribute): string {
  if (typeof type === 'string') return brief;
  return `${brief.replace(/\.$/, '')}: ${type.members.map(({ value }) => `\`${value}\``).join(', ')}`;
}

/** A sentence as a cell has it, with links from docs/. */
function shown(brief: string): string {
  const text = brief.replaceAll('](../', '](').replace(/\.$/, '');
  return /^\[?[A-Z][a-z]/.test(text) ? text.replace(/[A-Z]/, (letter) => letter.toLowerCase()) : text;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

/** A document with its tables of metrics and attributes as the registry has them. */
export function withTables(document: string, groups: readonly Group[]): string {
  return [metricsTable(groups), attributesTable(groups)].reduce((text, made) => {
    const [header = ''] = made.split('\n');
    const start = text.indexOf(header);
    if (start === -1) throw new Error(`no table ${header}`);
    const end = text.indexOf('\n\n', start);
    return text.slice(0, start) + made + text.slice(end);
  }, document);
}

if (import.meta.main) {
  const telemetry = join(FOLDER, '../telemetry.md');
  writeFileSync(telemetry, withTables(readFileSync(telemetry, 'utf8'), registry()));
  writeFileSync(join(FOLDER, '../../src/otel/semconv.ts'), semconvModule(registry()));
}
