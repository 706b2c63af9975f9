import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { attributesOf, referencesOf, registry, semconvModule, withTables } from '../../docs/semconv.ts';
import * as semconv from '../../src/otel/semconv.ts';
import { ROOT } from '../support/built.ts';

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
