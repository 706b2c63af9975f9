import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const IMPORT = /^\s*(?:import|export)\s+(?!type\b)[^;]*?\bfrom\s+'([^']+)'/gm;

/** Everything that running the client loads, by following its imports; types are gone by then. */
function loaded(file: string, found = new Set<string>()): Set<string> {
  for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    const path = target.startsWith('.') ? join(dirname(file), target) : target;
    if (found.has(path)) continue;
    found.add(path);
    if (target.startsWith('.')) loaded(path, found);
  }
  return found;
}

test('a browser can load the client: no built-in module of Node, no dependency', () => {
  const modules = [...loaded(join(import.meta.dirname, '../../src/client.ts'))];
  assert.ok(modules.some((path) => path.endsWith('client/transport.ts')));
  assert.deepEqual(
    modules.filter((path) => !path.startsWith('/')),
    [],
  );
});
