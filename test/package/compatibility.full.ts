// Every night: installs each version of redis, Jest and Vitest.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type RedisServer, startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { REFUSED_REDIS, TEST_FILES, TYPED_REDIS, WITH_REDIS } from './compatibility-scripts.ts';
import { configured } from './configurations.ts';
import { type Consumer, finish, installInto, packInto } from './consumer.ts';

describe('an application that has installed the package', () => {
  const directory = newFolder();
  let tarball = '';

  before(async () => {
    tarball = await packInto(directory);
  });

  /** One with the given packages, into which the package alone is installed afterwards. */
  const project = (name: string, packages: Readonly<Record<string, string>>) =>
    installInto(join(directory, name), tarball, packages, { alone: true });

  describe('beside redis', { skip: whyNoRedis() }, () => {
    let server: RedisServer;
    before(async () => {
      server = await startRedis();
    });
    after(() => server.close());

    for (const { name, version } of configured('redis')) {
      it(name, async () => {
        const consumer = await project(name, { redis: version });
        if (version.startsWith('4.')) {
          assert.match((await consumer.node(REFUSED_REDIS)).stdout, /needs the package redis, version 5 or 6/);
          return;
        }
        server.command('FLUSHALL');
        const { stdout, stderr } = await consumer.node(WITH_REDIS, { env: { REDIS_URL: server.url } });
        assert.equal(stdout, 'switched twice\n', stderr);
        assert.deepEqual(await consumer.compile(TYPED_REDIS), { code: 0, stdout: '', stderr: '' });
      });
    }
  });

  describe('tested with', () => {
    const { version: jest = '' } = configured('jest')[0] ?? {};
    const { version: vitest = '' } = configured('vitest')[0] ?? {};
    let consumer: Consumer;
    before(async () => {
      consumer = await project('tested', { jest, vitest });
    });

    function run(file: string, text: string, [command = '', ...args]: string[], env: Record<string, string> = {}) {
      writeFileSync(join(consumer.directory, file), text);
      return finish(join(consumer.directory, 'node_modules', '.bin', command), args, consumer.directory, env);
    }

    for (const { name, variant } of configured('jest')) {
      it(name, async () => {
        const esm = variant === 'ES modules';
        const file = esm ? 'app.test.mjs' : 'app.test.cjs';
        const env: Record<string, string> = esm ? { NODE_OPTIONS: '--experimental-vm-modules' } : {};
        const jest = ['jest', '--testMatch', `**/${file}`];
        const { code, stderr } = await run(file, esm ? TEST_FILES['ES modules'] : TEST_FILES.CommonJS, jest, env);
        assert.equal(code, 0, stderr);
        assert.match(stderr, /^Tests: +1 passed, 1 total$/m);
      });
    }

    for (const { name } of configured('vitest')) {
      it(name, async () => {
        const text = `import { expect, test } from 'vitest';${TEST_FILES['ES modules']}`;
        const { code, stdout, stderr } = await run('app.spec.mjs', text, ['vitest', 'run', 'app.spec.mjs']);
        assert.equal(code, 0, stdout + stderr);
        assert.match(stdout, /1 passed/);
      });
    }
  });
});
