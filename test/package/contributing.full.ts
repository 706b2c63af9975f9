import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertBuilt, ROOT } from '../support/built.ts';
import { folderOfPackage } from '../support/folder.ts';
import { finish } from './consumer.ts';

/** The files of CONTRIBUTING.md, by their path. */
const FILES = new Map(
  [
    ...readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').matchAll(/^( *)```ts\n *\/\/ (\S+\.ts)\n(.*?)^ *```$/gms),
  ].map(([, indent = '', path = '', code = '']) => [path, code.replaceAll(`\n${indent}`, '\n').slice(indent.length)]),
);

describe('the worked examples of CONTRIBUTING.md', () => {
  assertBuilt();
  const directory = folderOfPackage();

  it('are a route, a store, a source and a command, in places that are theirs', () => {
    assert.deepEqual(
      [...FILES.keys()],
      [
        'src/endpoint/routes/uptime.ts',
        'test/store/own.test.ts',
        'src/adopt/warnings.ts',
        'src/tools/cli/commands/whoami.ts',
      ],
    );
  });

  it('compile where they say that they belong', async () => {
    for (const folder of ['src', 'test/store', 'test/support']) {
      cpSync(join(ROOT, folder), join(directory, folder), { recursive: true });
    }
    for (const [path, code] of FILES) writeFileSync(join(directory, path), code);
    const tsconfig = { extends: '../../tsconfig.json', include: [], files: [...FILES.keys()] };
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(tsconfig));
    const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', directory];
    assert.deepEqual(await finish(process.execPath, tsc, directory), { code: 0, stdout: '', stderr: '' });
  });

  it('keep the contract, where that is what they show', async () => {
    const { code, stdout } = await finish(process.execPath, ['--test', 'test/store/own.test.ts'], directory);
    assert.equal(code, 0, stdout);
  });
});
