// Every night: installs each compiler.
// The declarations of every dependency are checked too.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { TYPED_ENTRIES } from './compatibility-scripts.ts';
import { configured } from './configurations.ts';
import { type Consumer, finish, installInto, MANIFEST, packInto } from './consumer.ts';

describe('an application compiled with', () => {
  const directory = newFolder();
  let tarball = '';
  before(async () => {
    tarball = await packInto(directory);
  });

  const versions = Object.groupBy(configured('typescript'), ({ version }) => version);
  for (const [version, configurations = []] of Object.entries(versions)) {
    describe(`TypeScript ${version}`, () => {
      let consumer: Consumer;
      before(async () => {
        const types = { '@types/node': MANIFEST.devDependencies['@types/node'] ?? '' };
        consumer = await installInto(join(directory, version), tarball, { typescript: version, ...types });
      });
      for (const { name, variant = '' } of configurations) {
        it(name, () => compiles(consumer, variant));
      }
    });
  }
});

/** The `module` of each `moduleResolution`, and the files that import as ES modules and by `require`. */
const MODES: Readonly<Record<string, { readonly module: string; readonly files: readonly string[] }>> = {
  node10: { module: 'commonjs', files: ['entries.ts'] },
  node16: { module: 'node16', files: ['entries.mts', 'entries.cts'] },
  nodenext: { module: 'nodenext', files: ['entries.mts', 'entries.cts'] },
  bundler: { module: 'preserve', files: ['entries.ts'] },
};

async function compiles({ directory }: Consumer, moduleResolution: string): Promise<void> {
  const { module, files } = MODES[moduleResolution] ?? { module: '', files: [] };
  for (const file of files) writeFileSync(join(directory, file), TYPED_ENTRIES);
  const compilerOptions = {
    module,
    moduleResolution,
    target: 'es2022',
    strict: true,
    noEmit: true,
    types: ['node'],
    esModuleInterop: true,
  };
  const project = join(directory, `tsconfig.${moduleResolution}.json`);
  writeFileSync(project, JSON.stringify({ compilerOptions, files }));
  const compiled = await finish(join(directory, 'node_modules', '.bin', 'tsc'), ['-p', project], directory);
  assert.deepEqual(compiled, { code: 0, stdout: '', stderr: '' });
}
