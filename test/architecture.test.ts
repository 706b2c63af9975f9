import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { test } from 'node:test';

const SRC = join(import.meta.dirname, '..', 'src');

/** Rooms (folders of src) and the shared files at its top, each with what it may import. */
const ARROWS: Record<string, readonly string[]> = {
  gate: [],
  protocol: [],
  'thrown.ts': [],
  'errors.ts': ['thrown.ts'],
  'version.ts': [],
  loading: [],
  time: [],
  net: ['errors.ts', 'version.ts'],
  telemetry: ['time', 'version.ts'],
  report: ['thrown.ts', 'protocol', 'telemetry', 'time', 'errors.ts'],
  options: [
    'protocol',
    'net',
    'report',
    'errors.ts',
    'emit/line-filter.ts',
    'emit/record.ts',
    'emit/redaction.ts',
    'work/redaction.ts',
    'store/state-store.ts',
  ],
  store: ['protocol', 'errors.ts', 'telemetry', 'time'],
  adopt: [
    'thrown.ts',
    'gate',
    'emit/arguments.ts',
    'emit/debug-lane.ts',
    'emit/log-exports.ts',
    'emit/formatting.ts',
    'emit/redaction.ts',
    'options',
    'protocol',
    'telemetry',
    'time',
    'version.ts',
  ],
  fleet: ['protocol', 'errors.ts', 'time', 'report', 'store/fleet-store.ts'],
  cluster: [
    'gate/types.ts',
    'metrics/types.ts',
    'metrics/called.ts',
    'metrics/shared.ts',
    'telemetry',
    'time',
    'store/sqlite/lock.ts',
  ],
  control: [
    'gate',
    'protocol',
    'errors.ts',
    'time',
    'report',
    'telemetry',
    'tickets',
    'audit/types.ts',
    'store/state-store.ts',
    'store/fleet-store.ts',
  ],
  alerts: [
    'thrown.ts',
    'protocol',
    'errors.ts',
    'time',
    'options',
    'control/types.ts',
    'audit/types.ts',
    'tenancy/isolation.ts',
    'metrics/event-loop-delay.ts',
    'work/outcomes.ts',
    'work/uncaught.ts',
  ],
  pull: [
    'protocol',
    'errors.ts',
    'time',
    'net',
    'report',
    'options',
    'tickets',
    'control/types.ts',
    'tenancy/isolation.ts',
  ],
  auth: ['thrown.ts', 'protocol', 'errors.ts', 'time', 'report', 'options', 'net', 'store/token-store.ts'],
  tenancy: [
    'protocol',
    'errors.ts',
    'auth/principal.ts',
    'control/types.ts',
    'store/state-store.ts',
    'store/fleet-store.ts',
    'store/message-store.ts',
    'options',
  ],
  audit: [
    'thrown.ts',
    'protocol',
    'errors.ts',
    'time',
    'report',
    'telemetry',
    'auth/principal.ts',
    'store/state-store.ts',
  ],
  metrics: [
    'gate/types.ts',
    'gate/drops.ts',
    'protocol',
    'time',
    'telemetry',
    'control/types.ts',
    'store/state-store.ts',
  ],
  emit: [
    'thrown.ts',
    'gate/types.ts',
    'gate/drops.ts',
    'gate/levels.ts',
    'gate/settling.ts',
    'work/outcomes.ts',
    'protocol',
    'errors.ts',
    'time',
    'report',
    'telemetry',
  ],
  work: ['thrown.ts', 'gate/work.ts', 'tickets/ticket.ts', 'protocol', 'errors.ts', 'time'],
  tickets: ['gate/types.ts', 'auth', 'protocol', 'errors.ts', 'time', 'net', 'report', 'telemetry', 'options'],
  notify: [
    'protocol',
    'errors.ts',
    'time',
    'net',
    'report',
    'telemetry',
    'options/notify.ts',
    'audit/types.ts',
    'emit/recorder.ts',
  ],
  tail: [
    'gate/types.ts',
    'gate/drops.ts',
    'emit/recorder.ts',
    'emit/taps.ts',
    'emit/record.ts',
    'emit/line.ts',
    'emit/budget.ts',
    'emit/fairness.ts',
    'emit/line-filter.ts',
    'emit/selection.ts',
    'work/match.ts',
    'protocol',
    'errors.ts',
    'time',
    'store/message-store.ts',
  ],
  server: [
    'thrown.ts',
    'alerts',
    'control',
    'tail',
    'auth',
    'tenancy',
    'audit',
    'metrics',
    'fleet',
    'protocol',
    'loading',
    'errors.ts',
    'time',
    'net',
    'report',
    'options',
    'telemetry',
    'version.ts',
    'store/state-store.ts',
  ],
  client: ['protocol', 'errors.ts'],
  console: ['client.ts', 'client', 'protocol', 'time'],
  register: [
    'adopt',
    'gate/gate.ts',
    'emit/debug-lane.ts',
    'emit/log-exports.ts',
    'emit/sampler.ts',
    'protocol',
    'cluster',
    'time',
    'telemetry',
    'options',
    'net',
    'report',
    'errors.ts',
    'tickets',
    'rdcp.ts',
    'auth',
    'loading',
    'version.ts',
  ],
  // `audit verify` checks a trail where it lies, because a server that was tampered with may show another one.
  cli: [
    'thrown.ts',
    'net',
    'loading',
    'client',
    'auth',
    'protocol',
    'errors.ts',
    'options',
    'version.ts',
    'audit/verify.ts',
    'audit/exported-records.ts',
    'audit/signature.ts',
    'store/open.ts',
    'store/postgres/store.ts',
    'mcp',
  ],
  mcp: [
    'thrown.ts',
    'client',
    'protocol',
    'errors.ts',
    'version.ts',
    'cli/missing-lines.ts',
    'cli/names.ts',
    'cli/tenant-settings.ts',
    'cli/words.ts',
  ],
};

/** The composition roots and entries: they know the rooms, and no room knows them. */
const ENTRIES = ['index.ts', 'api.ts', 'register.ts', 'client.ts', 'redis.ts', 'postgres.ts'];
const ROOTS = [...ENTRIES, 'rdcp.ts', 'composition', 'instrumentation.ts'];

/** One third party, one room. */
const THIRD_PARTIES: Record<string, readonly string[]> = {
  koa: ['server'],
  '@koa/router': ['server'],
  'koa-body': ['server'],
  jose: ['auth'],
  commander: ['cli'],
  '@modelcontextprotocol/server': ['mcp'],
  '@marcbachmann/cel-js': ['emit'],
  '@leeoniya/ufuzzy': ['console'],
  preact: ['console'],
  '@preact/signals': ['console'],
  'fastest-levenshtein': ['cli', 'options', 'register'],
  redis: ['store'],
  pg: ['store'],
  '@opentelemetry/sdk-node': ['register'],
  '@opentelemetry/exporter-prometheus': ['register'],
  '@opentelemetry/instrumentation': ['adopt', 'telemetry', 'instrumentation.ts'],
  '@opentelemetry/api': [
    'adopt',
    'metrics',
    'emit',
    'audit',
    'server',
    'tenancy',
    'telemetry',
    'instrumentation.ts',
    'register',
    'work',
  ],
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

/** The room of a file below src: its folder, or itself where it lies at the top. */
function roomOf(file: string): string {
  return file.includes(sep) ? (file.split(sep)[0] ?? '') : file;
}

function resolved({ file, target }: Import): string {
  return relative(SRC, join(SRC, dirname(file), target));
}

test('every import inside src follows the arrows of the house', () => {
  const wrong = imports()
    .filter(({ file, target }) => target.startsWith('.') && !ROOTS.includes(roomOf(file)))
    .filter((found) => {
      const room = roomOf(found.file);
      const target = resolved(found);
      if (roomOf(target) === room) return false;
      return !(ARROWS[room] ?? []).some((allowed) => target === allowed || roomOf(target) === allowed);
    })
    .map((found) => `${found.file} -> ${resolved(found)}`);
  assert.deepEqual(wrong, []);
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

test('every room and shared file has its arrows written down', () => {
  const unknown = [...new Set(sources().map(roomOf))].filter((room) => !(room in ARROWS) && !ROOTS.includes(room));
  assert.deepEqual(unknown, []);
});

test('the top of src has the entries, the two faces, and what every room shares', () => {
  const top = sources().filter((file) => !file.includes(sep));
  assert.deepEqual(
    top.sort(),
    [...ENTRIES, 'errors.ts', 'instrumentation.ts', 'rdcp.ts', 'thrown.ts', 'version.ts'].sort(),
  );
});
