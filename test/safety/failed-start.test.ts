import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { writeCertificate } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { portOf } from '../support/listening.ts';
import { RECORDS } from '../support/server.ts';
import { inFull } from '../support/tiers.ts';
import type { LeftBehind } from './failing-app.ts';
import { run } from './program.ts';

const APP = join(import.meta.dirname, 'failing-app.ts');
const CATEGORIES = { LEFT_ON: { enabled: true }, LEFT_ON_TOO: { enabled: true } };

async function assertNothingLeft(
  t: TestContext,
  attempts: readonly (readonly [name: string, config: RdcpConfig, error: RegExp])[],
  common: RdcpConfig = {},
) {
  const args = attempts.map(([name, config]) => ({
    name,
    config: { security: { apiKeys: RECORDS }, categories: CATEGORIES, ...common, ...config },
  }));
  const program = run(t, APP, { args: [JSON.stringify(args)], cwd: newFolder(t) });
  const told = once(program.child, 'message') as Promise<[LeftBehind[]]>;
  const [left] = await Promise.race([told, program.ended.then(() => assert.fail(program.output.stderr))]);
  for (const [index, [name, , error]] of attempts.entries()) {
    const { error: told = '', ...rest } = left[index] ?? {};
    assert.match(told, error, name);
    assert.deepEqual(rest, { name, intervals: 0, files: [], categoryOn: false });
  }
  assert.equal(await program.endedWithin(30_000), 0, program.output.stderr);
}

const skip = existsSync('/proc/self/fd') ? false : 'open files are looked up in /proc';

test('what cannot be started leaves no file, timer, connection or category behind, and the process ends by itself', {
  skip,
}, async (t) => {
  const directory = newFolder(t);
  const { cert: _, ...tls } = writeCertificate();
  const broken = join(directory, 'broken.pem');
  writeFileSync(broken, 'no key');
  const port = await portOf(t, createServer());
  const tokens = { issuer: 'i', audience: 'a', secret: 'x' };
  const secured = (files: object): RdcpConfig => ({ server: { port: 0, tls: { ...tls, ...files } } });
  await assertNothingLeft(
    t,
    [
      ['an unknown field', { stroe: 'memory:' } as RdcpConfig, /stroe is not a known field/],
      ['more categories than are allowed', { limits: { maxCategories: 1 } }, /more than limits\.maxCategories/],
      ['an address without TLS', { server: { host: '0.0.0.0' } }, /server\.host 0\.0\.0\.0 is not a loopback address/],
      ['a keys file that is not there', { security: { apiKeys: { file: join(directory, 'none') } } }, /ENOENT/],
      ['a secret that is too short', { security: { apiKeys: RECORDS, tokens } }, /at least 32/],
      ['a level that cannot be kept', { security: { level: 'enterprise' } }, /security\.level/],
      ['a certificate that is not there', secured({ certFile: 'none' }), /certFile cannot be read/],
      ['a key that is none', secured({ keyFile: broken }), /keyFile holds no PEM/],
      ['a port in use', { server: { port } }, /port \d+ is in use/],
      ['a store in no directory', { store: `sqlite:${join(directory, 'none', 'x')}` }, /directory does not exist/],
      ['a file that is no store', { store: `sqlite:${broken}` }, /is not a SQLite database/],
    ],
    { store: `sqlite:${join(directory, 'state.db')}` },
  );
});

inFull('nor a connection to Redis', { skip: skip || whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await assertNothingLeft(
    t,
    [['more categories than are allowed', { limits: { maxCategories: 1 } }, /more than limits\.maxCategories/]],
    { store: redis.url },
  );
});
