import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAst } from 'rolldown/parseAst';
import { parse, parseAllDocuments } from 'yaml';
import { attributesOf, referencesOf, registry, semconvModule, withTables } from '../../docs/semconv.ts';
import { parseConfig } from '../../src/options/config.ts';
import * as semconv from '../../src/otel/semconv.ts';
import { controlRequestSchema } from '../../src/wire/control-request.ts';
import { ROOT } from '../support/built.ts';
import { BLOCKS, blocksOf } from './blocks.ts';

/** Each language of the documents, and what tries its blocks beside this file. */
const LANGUAGES = {
  sh: 'commands.test.ts; test/cli/document.test.ts',
  ts: 'test/package/documents.test.ts; recipes.full.ts',
  js: 'test/package/documents.test.ts; test/notify/event.test.ts',
  json: 'this file',
  yaml: 'this file; recipes.test.ts; test/examples/alerts.full.ts; test/proxies/kubernetes.test.ts',
  nginx: 'test/proxies/nginx.test.ts',
  haproxy: 'test/proxies/haproxy.full.ts',
  sql: 'test/cli/store-migrate.test.ts',
  dockerfile: 'recipes.test.ts',
  logql: 'nothing: the document says so',
} as const;

it('the documents have blocks of these languages alone, so that none is without a test', () => {
  assert.deepEqual([...new Set(BLOCKS.map(({ language }) => language))].sort(), Object.keys(LANGUAGES).sort());
});

describe('JSON in the documents', () => {
  const OPTIONS = ['server', 'security', 'controls', 'emit', 'tenancy', 'store', 'adopt', 'notify', 'alerts', 'pull'];
  const parsed = blocksOf('json').map(({ place, code }) => {
    // A member alone stands for its place in an answer.
    const text = code.trimStart().startsWith('"') ? `{${code}}` : code;
    return { place, value: JSON.parse(text) as Record<string, unknown> };
  });

  it('is JSON', () => assert.ok(parsed.length > 8));

  it('that configures is accepted by the configuration', () => {
    const configurations = parsed.filter(({ value }) => Object.keys(value).every((name) => OPTIONS.includes(name)));
    assert.ok(configurations.length >= 5);
    for (const { place, value } of configurations) assert.doesNotThrow(() => parseConfig(value), place);
  });

  it('that switches is accepted by the control endpoint', () => {
    const bodies = parsed.filter(({ value }) => 'action' in value);
    assert.ok(bodies.length >= 2);
    for (const { place, value } of bodies) {
      assert.doesNotThrow(() => controlRequestSchema.parse(value), place);
    }
  });
});

it('YAML in the documents is YAML, without a key twice', () => {
  for (const { place, code } of blocksOf('yaml')) {
    for (const document of parseAllDocuments(code)) assert.deepEqual(document.errors, [], place);
  }
});

it('JavaScript in the documents is JavaScript', () => {
  for (const { place, code } of blocksOf('js')) {
    const text = /^\w+: [{[]/.test(code) ? `({${code}})` : code;
    assert.doesNotThrow(() => parseAst(text), place);
  }
});

describe('shell code in the documents', () => {
  it('is what a shell can read', () => {
    for (const { place, code } of blocksOf('sh')) {
      const { stderr } = spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' });
      assert.equal(stderr, '', place);
    }
  });

  it('names scripts that the package has', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const documents = new Map(BLOCKS.map(({ document }) => [document, readFileSync(join(ROOT, document), 'utf8')]));
    const named = [...documents].flatMap(([document, text]) =>
      [...text.matchAll(/`npm run ([\w:-]+)|^npm run ([\w:-]+)/gm)].map(([, one, other]) => ({
        document,
        script: one ?? other ?? '',
      })),
    );
    assert.ok(named.length > 5);
    for (const { document, script } of named) assert.ok(script in scripts, `${document}: npm run ${script}`);
  });
});

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const constants: Readonly<Record<string, string>> = { ...semconv };
const groups = registry();
const own = attributesOf(groups).map(({ id }) => id);

describe('the registry of semantic conventions', () => {
  it('is what the constants and the tables are made from', () => {
    assert.equal(read('src/otel/semconv.ts'), semconvModule(groups), 'run `npm run document`');
    const telemetry = read('docs/telemetry.md');
    assert.equal(telemetry, withTables(telemetry, groups), 'run `npm run document`');
  });

  it('defines each name once, and every name of ours that a group has', () => {
    const ids = [...groups.map(({ id }) => id), ...own];
    assert.equal(new Set(ids).size, ids.length);
    const used = groups.flatMap(referencesOf).map(({ ref }) => ref);
    for (const name of used) assert.equal(own.includes(name), name.startsWith('rdcp.'), name);
    for (const name of own) assert.ok(used.includes(name), `${name} is on something`);
  });

  it('has a brief for everything, types of Weaver, and OpenTelemetry as its one dependency', () => {
    for (const { id, brief } of [...groups, ...attributesOf(groups)]) assert.match(brief, /\.$/, id);
    for (const { id, type } of attributesOf(groups)) {
      if (typeof type === 'string') assert.match(type, /^(?:(?:string|int|double|boolean)(?:\[\])?|any)$/, id);
      else assert.ok(type.members.length > 1, id);
    }
    for (const { ref, brief } of groups.flatMap(referencesOf).filter(({ ref }) => !own.includes(ref))) {
      assert.ok(brief, `${ref} says what it is here`);
    }
    const manifest = parse(read('docs/semconv/registry_manifest.yaml'));
    assert.equal(manifest.name, JSON.parse(read('package.json')).name);
    assert.equal(manifest.dependencies.length, 1);
  });

  it('has the attributes of audit records and checkpoints', () => {
    const [, audit = '', checkpoint = ''] = read('src/trail/log-record.ts').split(/^export function /m);
    for (const [event, source] of [
      [semconv.EVENT_AUDIT, audit],
      [semconv.EVENT_AUDIT_CHECKPOINT, checkpoint],
    ] as const) {
      const made = [...source.matchAll(/semconv\.(ATTR_\w+)/g)].map(([, name = '']) => constants[name]);
      const group = groups.find(({ name }) => name === event) ?? assert.fail(event);
      const had = referencesOf(group).map(({ ref }) => ref);
      assert.deepEqual(had.sort(), made.sort(), event);
    }
  });
});
