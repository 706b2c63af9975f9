import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/built.ts';

interface Lock {
  readonly packages: Record<string, { readonly hasInstallScript?: boolean }>;
}

const read = <T>(file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as T;

test('every install script of a dependency is allowed by name, because npm 12 runs no other', () => {
  const { packages } = read<Lock>('package-lock.json');
  const { allowScripts } = read<{ allowScripts: Record<string, boolean> }>('package.json');
  const withScripts = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(Object.keys(allowScripts).sort(), [...new Set(withScripts)].sort());
});
