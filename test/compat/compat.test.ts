import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newFolder } from '../support/folder.ts';

const WITH_US = "Symbol.for('opentelemetry-instrumentation-rdcp.gate.v1') in globalThis";

/** Tests of a made-up library, named by when they pass. */
const TESTS = `
  const test = require('node:test');
  const assert = require('node:assert');
  const withUs = ${WITH_US};
  require('node:util').debuglog('made-up')('a line');
  test('passes', () => {});
  test('fails', () => assert.fail());
  test('fails with us', () => assert.ok(!withUs));
  if (!withUs) test('runs without us', () => {});
  test('is skipped with us', { skip: withUs }, () => {});
`;

test('a test of a library that only fails with the package fails the comparison, and what cannot be run is named', (t) => {
  const folder = newFolder(t);
  for (const path of ['koa/__tests__', 'koa/node_modules', 'pino']) mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, 'koa/package.json'), '{ "version": "1.2.3" }');
  const compare = (tests: string, ...libraries: string[]) => {
    writeFileSync(join(folder, 'koa/__tests__/made-up.test.js'), tests);
    const env = { ...process.env, RDCP_COMPAT_FOLDER: folder, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined };
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(import.meta.dirname, 'main.ts'), ...libraries],
      { env, encoding: 'utf8' },
    );
    assert.equal(stderr, '');
    return { status, stdout };
  };
  const { status, stdout } = compare(TESTS, 'koa', 'debug', 'pino');
  assert.equal(status, 1);
  assert.match(stdout, /^koa +1\.2\.3 +4 +1 +1 +2 +1 +3$/m);
  const only = [...stdout.matchAll(/^FAILED only with: koa: .*: \d+ (.*?): /gm)].map(([, name]) => name);
  assert.deepEqual(only.sort(), ['fails with us', 'is skipped with us', 'runs without us']);
  assert.match(stdout, /^NOT RUN: debug: RDCP_COMPAT_FOLDER has no folder debug$/m);
  assert.match(stdout, /^NOT RUN: pino: .*pino has no test\//m);

  const held = compare(TESTS.replace(WITH_US, 'false').replace('assert.fail()', '{}'), 'koa');
  assert.match(held.stdout, /^koa +1\.2\.3 +5 +0 +5 +0 +1 +0$/m);
  assert.equal(held.status, 0);

  const crashed = compare(`require('node:test')('passes', () => {}); if (${WITH_US}) process.exitCode = 3;`, 'koa');
  assert.match(
    crashed.stdout,
    /^FAILED only with: koa: .*: the whole file: .*test failed\nFAILED: koa has no category/m,
  );
});
