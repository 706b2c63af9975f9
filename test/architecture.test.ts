import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { test } from 'node:test';

const SRC = join(import.meta.dirname, '..', 'src');

/** The rooms of the house (folders of src), in order: each with those above it that it may import. */
const ROOMS: Record<string, readonly string[]> = {
  gate: [],
  wire: [],
  otel: ['wire'],
  options: ['wire', 'otel'],
  store: ['wire', 'otel'],
  trail: ['wire', 'otel', 'options', 'store'],
  access: ['gate', 'wire', 'otel', 'options', 'store'],
  calls: ['gate', 'wire', 'otel', 'store', 'trail', 'access'],
  adopt: ['gate', 'wire', 'otel', 'options', 'calls'],
  control: ['gate', 'wire', 'otel', 'options', 'store', 'trail', 'access', 'calls'],
  endpoint: ['wire', 'otel', 'options', 'store', 'trail', 'access', 'calls', 'control'],
  assembly: ['gate', 'wire', 'otel', 'options', 'store', 'trail', 'access', 'calls', 'adopt', 'control', 'endpoint'],
  tools: ['wire', 'otel', 'options', 'store', 'trail', 'access'],
};

/** The one look downstairs: an application may pass a store of its own, so the options have its type. */
const DOWNSTAIRS = 'store/state-store.ts';

/** They know the rooms, and no room knows them, but for the typed client, which the page uses as an application does. */
const ENTRIES = ['index.ts', 'api.ts', 'register.ts', 'client.ts', 'redis.ts', 'postgres.ts'];

/** One third party, one room. */
const THIRD_PARTIES: Record<string, readonly string[]> = {
  koa: ['endpoint'],
  '@koa/router': ['endpoint'],
  'koa-body': ['endpoint'],
  jose: ['access'],
  commander: ['tools'],
  '@modelcontextprotocol/server': ['tools'],
  '@marcbachmann/cel-js': ['wire'],
  '@leeoniya/ufuzzy': ['tools'],
  preact: ['tools'],
  '@preact/signals': ['tools'],
  'fastest-levenshtein': ['tools', 'options', 'assembly'],
  redis: ['store'],
  pg: ['store'],
  '@opentelemetry/sdk-node': ['assembly'],
  '@opentelemetry/exporter-prometheus': ['assembly'],
  '@opentelemetry/instrumentation': ['otel', 'adopt', 'assembly'],
  '@opentelemetry/api': ['otel', 'trail', 'calls', 'adopt', 'control', 'endpoint', 'assembly'],
  '@opentelemetry/api-logs': [],
};

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g;

interface Import {
  readonly file: string;
  readonly target: string;
}

function sources(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
}

function imports(): Import[] {
  return sources().flatMap((file) =>
    [...readFileSync(join(SRC, file), 'utf8').matchAll(IMPORT)].map((match) => ({ file, target: match[1] ?? '' })),
  );
}

/** The files that are loaded with this one. */
function valueImports(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/^(?:import|export) (?!type )(?:([^'";]*?) from )?'(\.[^']+)'/gms)]
    .filter(([, names = '']) => !/^\{(?:\s*type [^,}]+,?)+\s*\}$/.test(names.trim()))
    .map(([, , target = '']) => resolved({ file, target }));
}

/** The room of a file below src: its folder, or itself where it lies at the top. */
function roomOf(file: string): string {
  return file.includes(sep) ? (file.split(sep)[0] ?? '') : file;
}

function resolved({ file, target }: Import): string {
  return relative(SRC, join(SRC, dirname(file), target));
}

test('every import inside src goes to a room above', () => {
  const wrong = imports()
    .filter(({ file, target }) => target.startsWith('.') && !ENTRIES.includes(file))
    .filter((found) => {
      const [room, target] = [roomOf(found.file), resolved(found)];
      if (roomOf(target) === room || ROOMS[room]?.includes(roomOf(target))) return false;
      return !(room === 'options' && target === DOWNSTAIRS) && !(room === 'tools' && target === 'client.ts');
    })
    .map((found) => `${found.file} -> ${resolved(found)}`);
  assert.deepEqual(wrong, []);
});

test('no file imports itself by way of others, types aside', () => {
  const values = new Map(sources().map((file) => [file, valueImports(file)]));
  const reach = (file: string, from: string, seen: Set<string>): boolean =>
    (values.get(file) ?? []).some(
      (next) => next === from || (!seen.has(next) && seen.add(next) && reach(next, from, seen)),
    );
  assert.deepEqual(
    sources().filter((file) => reach(file, file, new Set())),
    [],
  );
});

test('each third party is imported by its own room alone', () => {
  const wrong = imports()
    .filter(({ file, target }) => {
      const packageName = target
        .split('/')
        .slice(0, target.startsWith('@') ? 2 : 1)
        .join('/');
      const rooms = THIRD_PARTIES[packageName];
      return rooms !== undefined && !rooms.includes(roomOf(file));
    })
    .map(({ file, target }) => `${file} -> ${target}`);
  assert.deepEqual(wrong, []);
});

test('the application half imports nothing but the gate', () => {
  const wrong = imports().filter(({ file, target }) => file === 'api.ts' && !target.startsWith('./gate/'));
  assert.deepEqual(wrong, []);
});

test('the top of src has the rooms and the entries, nothing else', () => {
  assert.deepEqual([...new Set(sources().map(roomOf))].sort(), [...Object.keys(ROOMS), ...ENTRIES].sort());
});

test('no room imports one below it', () => {
  const order = Object.keys(ROOMS);
  const wrong = order.flatMap((room, place) => ROOMS[room]?.filter((above) => order.indexOf(above) >= place) ?? []);
  assert.deepEqual(wrong, []);
});
