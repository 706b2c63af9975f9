import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { addressSource } from '../../src/control/pull/address.ts';
import { fileSource } from '../../src/control/pull/source.ts';
import { SettingFault } from '../../src/wire/errors.ts';
import { newFolder } from '../support/folder.ts';
import { serve } from '../work/following.ts';

const LARGEST = 'x'.repeat(65_536);

const fault = (message: RegExp) => (error: unknown) => error instanceof SettingFault && message.test(error.message);

test('a file is read as it is now, through links, and one that is not there is no document', async (t) => {
  const path = newFolder(t);
  const { read } = fileSource(join(path, 'current', 'controls.jwt'));
  assert.equal(await read(), undefined);
  // As a ConfigMap is updated.
  for (const version of ['one', 'two']) {
    mkdirSync(join(path, version));
    writeFileSync(join(path, version, 'controls.jwt'), version);
    rmSync(join(path, 'current'), { force: true });
    symlinkSync(version, join(path, 'current'));
    assert.equal(await read(), version);
  }
  rmSync(join(path, 'current'));
  assert.equal(await read(), undefined);
  writeFileSync(join(path, 'current'), 'a file in the place of a folder');
  assert.equal(await read(), undefined);
});

test('a file that is none, or is too large, is a fault, and holds nothing up', async (t) => {
  const path = newFolder(t);
  writeFileSync(join(path, 'largest'), LARGEST);
  writeFileSync(join(path, 'larger'), `${LARGEST}x`);
  assert.equal(spawnSync('mkfifo', [join(path, 'pipe')]).status, 0);
  const [largest, larger, itself, pipe] = ['largest', 'larger', '.', 'pipe'].map((name) =>
    fileSource(join(path, name)),
  );
  // The first read is another one than those after it.
  for (let times = 0; times < 2; times += 1) {
    assert.equal(await largest?.read(), LARGEST);
    await assert.rejects(async () => larger?.read(), fault(/^has more than 65536 bytes$/));
    await assert.rejects(async () => itself?.read(), fault(/^is not a file$/));
    await assert.rejects(async () => pipe?.read(), fault(/^is not a file$/));
  }
});

async function address(t: TestContext, answer: RequestListener) {
  return addressSource(`${await serve(t, answer)}/controls.jwt`);
}

test('an address is asked with the tag of the document before, and an unchanged one is not sent again', async (t) => {
  const asked: (string | undefined)[] = [];
  let [status, body] = [200, 'one'];
  const { read } = await address(t, ({ headers }, response) => {
    asked.push(headers['if-none-match']);
    const isKnown = headers['if-none-match'] === `"${body}"`;
    response.writeHead(isKnown ? 304 : status, { ETag: `"${body}"` }).end(isKnown ? undefined : body);
  });
  assert.deepEqual([await read(), await read()], ['one', 'one']);
  body = 'two';
  assert.deepEqual([await read(), await read()], ['two', 'two']);
  [status, body] = [404, 'gone'];
  assert.equal(await read(), undefined);
  [status, body] = [200, 'two'];
  assert.equal(await read(), 'two');
  assert.deepEqual(asked, [undefined, '"one"', '"one"', '"two"', '"two"', undefined]);
});

test('an answer that is no document is a fault', async (t) => {
  const answers: readonly (readonly [RequestListener, RegExp])[] = [
    [(_, response) => response.writeHead(500).end('x'), /^answers with status 500$/],
    [(_, response) => response.writeHead(304).end(), /^answers with status 304$/],
    [(_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(), /^answers with status 302$/],
    [(_, response) => response.end(`${LARGEST}x`), /^has more than 65536 bytes$/],
    [({ socket }) => socket.destroy(), /^cannot be reached \(ECONNRESET\)$/],
    [
      (_, response) => void response.writeHead(200, { 'Content-Length': '9' }).write('x', () => response.destroy()),
      /^cannot be reached/,
    ],
    [() => {}, /^does not answer in time$/],
    [(_, response) => void response.writeHead(200).write('x'), /^does not answer in time$/],
  ];
  const faulty = answers.map(async ([answer, message]) => {
    const { read } = await address(t, answer);
    await assert.rejects(read(), fault(message));
  });
  await Promise.all(faulty);
});
