import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { test } from 'node:test';

const SRC = join(import.meta.dirname, '..', 'src');

/** Rooms (folders of src) and the files at its top that carry shared subjects, each with what it may import. */
const ARROWS: Record<string, readonly string[]> = {
  gate: [],
  protocol: ['printable.ts'],
  'errors.ts': [],
  'clock.ts': [],
  'version.ts': [],
  'node-version.ts': [],
  'ends-on-old-node.ts': ['node-version.ts'],
  'throws-on-old-node.ts': ['node-version.ts'],
  'handed-on.ts': [],
  'semconv.ts': [],
  'after-start.ts': [],
  'deadline.ts': [],
  'provider-shutdown.ts': ['deadline.ts'],
  'telemetry.ts': ['version.ts', 'provider-shutdown.ts'],
  'diagnostics.ts': [],
  'otel-environment.ts': [],
  'printable.ts': [],
  'addresses.ts': [],
  'hosts.ts': ['addresses.ts'],
  'trusted-uri.ts': ['errors.ts', 'hosts.ts'],
  'own-work.ts': [],
  'stderr.ts': [],
  'reporter.ts': ['diagnostics.ts', 'printable.ts', 'stderr.ts'],
  'conditions.ts': ['clock.ts', 'reporter.ts'],
  adopt: [
    'gate',
    'emit/debug-lane.ts',
    'options',
    'own-work.ts',
    'protocol',
    'telemetry.ts',
    'version.ts',
    'printable.ts',
  ],
  options: ['protocol'],
  'options.ts': ['options', 'emit/record.ts', 'reporter.ts', 'store/state-store.ts'],
  'config.ts': [
    'options.ts',
    'protocol',
    'emit/record.ts',
    'addresses.ts',
    'errors.ts',
    'reporter.ts',
    'store/state-store.ts',
  ],
  'json-fault.ts': [],
  'file-changes.ts': [],
  'environment.ts': ['json-fault.ts', 'config.ts', 'options.ts', 'auth', 'errors.ts', 'protocol'],
  store: ['protocol', 'errors.ts', 'diagnostics.ts', 'clock.ts'],
  'store-contract': ['store', 'protocol', 'errors.ts'],
  fleet: ['protocol', 'errors.ts', 'clock.ts', 'conditions.ts', 'store/fleet-store.ts'],
  cluster: ['after-start.ts', 'gate/types.ts', 'metrics/types.ts', 'clock.ts', 'diagnostics.ts'],
  control: [
    'gate',
    'protocol',
    'errors.ts',
    'clock.ts',
    'conditions.ts',
    'semconv.ts',
    'audit/types.ts',
    'store/state-store.ts',
    'store/fleet-store.ts',
  ],
  auth: [
    'json-fault.ts',
    'file-changes.ts',
    'protocol',
    'errors.ts',
    'clock.ts',
    'conditions.ts',
    'config.ts',
    'options.ts',
    'hosts.ts',
    'trusted-uri.ts',
    'store/token-store.ts',
  ],
  tenancy: [
    'protocol',
    'errors.ts',
    'auth/principal.ts',
    'control/types.ts',
    'store/state-store.ts',
    'store/fleet-store.ts',
    'store/message-store.ts',
    'config.ts',
  ],
  audit: [
    'protocol',
    'errors.ts',
    'clock.ts',
    'conditions.ts',
    'semconv.ts',
    'telemetry.ts',
    'auth/principal.ts',
    'store/state-store.ts',
  ],
  metrics: [
    'gate/types.ts',
    'gate/drops.ts',
    'protocol',
    'clock.ts',
    'semconv.ts',
    'telemetry.ts',
    'diagnostics.ts',
    'control/types.ts',
    'store/state-store.ts',
  ],
  emit: [
    'gate/types.ts',
    'gate/drops.ts',
    'protocol',
    'clock.ts',
    'conditions.ts',
    'semconv.ts',
    'telemetry.ts',
    'diagnostics.ts',
    'printable.ts',
    'stderr.ts',
    'reporter.ts',
    'otel-environment.ts',
    'own-work.ts',
  ],
  notify: [
    'protocol',
    'errors.ts',
    'clock.ts',
    'conditions.ts',
    'deadline.ts',
    'reporter.ts',
    'own-work.ts',
    'trusted-uri.ts',
    'options/notify.ts',
    'audit/types.ts',
  ],
  tail: [
    'gate/types.ts',
    'emit/taps.ts',
    'emit/record.ts',
    'emit/line.ts',
    'emit/budget.ts',
    'protocol',
    'printable.ts',
    'errors.ts',
    'clock.ts',
    'store/message-store.ts',
  ],
  server: [
    'control',
    'tail',
    'auth',
    'tenancy',
    'audit',
    'metrics',
    'fleet',
    'protocol',
    'printable.ts',
    'after-start.ts',
    'errors.ts',
    'clock.ts',
    'deadline.ts',
    'addresses.ts',
    'hosts.ts',
    'conditions.ts',
    'config.ts',
    'file-changes.ts',
    'version.ts',
    'own-work.ts',
    'store/state-store.ts',
  ],
  conformance: [],
  client: ['protocol', 'errors.ts'],
  console: ['client.ts', 'client', 'protocol', 'printable.ts'],
  register: [
    'adopt/hook.ts',
    'adopt/options.ts',
    'adopt/otel-logs.ts',
    'adopt/process.ts',
    'gate/gate.ts',
    'emit/debug-lane.ts',
    'emit/sampler.ts',
    'own-work.ts',
    'otel-environment.ts',
    'protocol',
    'after-start.ts',
    'cluster',
    'clock.ts',
    'diagnostics.ts',
    'deadline.ts',
    'provider-shutdown.ts',
    'environment.ts',
    'telemetry.ts',
    'options.ts',
    'errors.ts',
    'instrumentation.ts',
    'auth',
    'reporter.ts',
    'hosts.ts',
    'handed-on.ts',
    'version.ts',
  ],
  // `audit verify` checks a trail where it lies, because a server that was tampered with may show another one.
  cli: [
    'hosts.ts',
    'conformance',
    'ends-on-old-node.ts',
    'client',
    'auth',
    'protocol',
    'printable.ts',
    'errors.ts',
    'options.ts',
    'version.ts',
    'clock.ts',
    'audit/verify.ts',
    'audit/exported-records.ts',
    'audit/signature.ts',
    'store/open.ts',
  ],
};

/** The composition roots and entries: they know the rooms, and no room knows them. */
const ROOTS = [
  'index.ts',
  'api.ts',
  'register.ts',
  'client.ts',
  'redis.ts',
  'store-contract.ts',
  'es-modules.ts',
  'rdcp.ts',
  'assemble.ts',
  'clustered-control.ts',
  'closing.ts',
  'instrumentation.ts',
];

/** One third party, one room. */
const THIRD_PARTIES: Record<string, readonly string[]> = {
  koa: ['server'],
  '@koa/router': ['server'],
  'koa-body': ['server'],
  jose: ['auth'],
  commander: ['cli'],
  preact: ['console'],
  'fastest-levenshtein': ['cli'],
  redis: ['store'],
  '@opentelemetry/sdk-node': ['register'],
  '@opentelemetry/exporter-prometheus': ['register'],
  '@opentelemetry/instrumentation': ['adopt', 'telemetry.ts', 'instrumentation.ts', 'es-modules.ts'],
  '@opentelemetry/api': [
    'adopt',
    'metrics',
    'emit',
    'audit',
    'server',
    'tenancy',
    'telemetry.ts',
    'diagnostics.ts',
    'own-work.ts',
    'instrumentation.ts',
    'es-modules.ts',
    'register',
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
