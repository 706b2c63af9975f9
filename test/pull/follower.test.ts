import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DocumentFollower, Newest } from '../../src/control/pull/follower.ts';
import type { TicketOptions } from '../../src/options/options.ts';
import { RdcpError, SettingFault, unavailable } from '../../src/wire/errors.ts';
import { newFolder } from '../support/folder.ts';
import { ISSUER, service } from '../tickets/tickets.ts';
import { claims, document, head, sign } from './documents.ts';

/** A follower of what the test puts in place, with a clock that is moved by hand. */
function start(
  t: TestContext,
  first: string | undefined,
  { newest = new Newest(), ...options }: Partial<TicketOptions> & { readonly newest?: Newest } = {},
) {
  const { rules, time, now } = service(options);
  let found: string | Error | undefined = first;
  let refusal: Error | undefined;
  let reads = 0;
  const log: string[] = [];
  const follower = new DocumentFollower({
    source: {
      field: 'pull.file',
      async read() {
        reads += 1;
        if (found instanceof Error) throw found;
        return found;
      },
    },
    newest,
    everyMs: 30_000,
    rules: { ...rules, maxDuration: 24 * 3600 },
    async begin({ id, controls }, place) {
      if (refusal !== undefined) throw refusal;
      log.push(`begin ${id}`);
      return {
        id: `${id}/${place}`,
        expiresAt: controls[place]?.expiresAt ?? 0,
        end: async (why) => void log.push(`end ${id}/${place}: ${why}`),
      };
    },
    clock: time.clock,
    delay: time.delay,
    condition: {
      begin: (problem) => void log.push(problem),
      end: () => {},
    },
    report: (error) => void log.push(`reported ${error}`),
  });
  t.after(() => follower.close());
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    now,
    log,
    reads: () => reads,
    settled,
    close: () => follower.close(),
    async put(next: string | Error | undefined) {
      found = next;
      await this.pass(30);
    },
    refuse: (error: Error | undefined) => {
      refusal = error;
    },
    async pass(seconds: number) {
      await settled();
      await time.pass(seconds * 1000);
      await settled();
    },
    said: () => log.splice(0),
  };
}

test('a document is read at the start, and then once in each interval; one that stays the same is applied once', async (t) => {
  const follower = start(t, document(service().now()));
  await follower.settled();
  assert.deepEqual(follower.said(), ['begin document-1']);
  for (let minute = 0; minute < 3; minute += 1) await follower.pass(30);
  await follower.pass(29);
  assert.equal(follower.reads(), 4);
  assert.deepEqual(follower.said(), []);
});

test('a newer document takes the place of the one before, and an older one is stale', async (t) => {
  const now = service().now();
  const older = document(now - 5000, { id: 'older' });
  const follower = start(t, document(now, { id: 'first' }));
  await follower.put(document(now + 1000, { id: 'second' }));
  assert.deepEqual(follower.said(), ['begin first', 'begin second', 'end first/0: replaced by document second']);
  await follower.put(older);
  assert.deepEqual(follower.said(), ['pull.file is refused (stale)']);
});

test('after a restart an older document is stale too, where the folder of the file can be written', async (t) => {
  const folder = newFolder(t);
  const now = service().now();
  const [older, newer] = [document(now - 5000, { id: 'older' }), document(now, { id: 'newer' })];
  const file = join(folder, 'controls.jwt.newest');
  for (const [kept, found, said] of [
    [file, newer, 'begin newer'],
    [file, older, 'pull.file is refused (stale)'],
    [file, newer, 'begin newer'],
    [join(folder, 'missing', 'controls.jwt.newest'), older, 'begin older'],
    [join(folder, 'missing', 'controls.jwt.newest'), older, 'begin older'],
  ] as const) {
    const follower = start(t, found, { newest: new Newest(kept) });
    await follower.settled();
    assert.deepEqual(follower.said(), [said]);
  }
  writeFileSync(file, 'null');
  const [one, other] = [new Newest(file), new Newest(file)];
  assert.deepEqual(
    [one.note('a', 2), other.note('a', 1), other.note('b', 1), one.note('b', 0)],
    [true, false, true, false],
  );
  assert.deepEqual(readdirSync(folder), ['controls.jwt.newest']);
});

test('a document that is removed ends what it switched on, unless that has ended', async (t) => {
  const follower = start(t, document(service().now(), { lasts: 100 }));
  await follower.put(undefined);
  assert.deepEqual(follower.said(), ['begin document-1', 'end document-1/0: the document was removed']);
  await follower.put(document(follower.now(), { id: 'next', lasts: 50 }));
  await follower.put(undefined);
  assert.deepEqual(follower.said(), ['begin next']);
});

for (const [what, bad] of [
  ['cannot be read', new SettingFault('cannot be read (EACCES)')],
  ['is no JWS', '<html>'],
  ['was forged', `${document(service().now()).slice(0, -4)}AAAA`],
] as const) {
  test(`a document that ${what} switches nothing and ends nothing, and the next good one is taken`, async (t) => {
    const follower = start(t, document(service().now()));
    await follower.put(bad);
    await follower.put(bad);
    const [begun, ...said] = follower.said();
    assert.equal(begun, 'begin document-1');
    assert.equal(said.length, 2, 'the condition says it once');
    assert.equal(new Set(said).size, 1);
    await follower.put(document(follower.now(), { id: 'good' }));
    assert.deepEqual(follower.said(), ['begin good', 'end document-1/0: replaced by document good']);
  });
}

test('what cannot be applied now is tried again; what is refused is not', async (t) => {
  const follower = start(t, undefined);
  follower.refuse(unavailable('The store is unavailable, so nothing was changed'));
  await follower.put(document(follower.now()));
  assert.match(follower.said().join(), /cannot be applied: The store is unavailable/);
  follower.refuse(undefined);
  await follower.pass(30);
  assert.deepEqual(follower.said(), ['begin document-1']);
  follower.refuse(new RdcpError('RDCP_TEMPORARY_LIMIT', 'too many'));
  await follower.put(document(follower.now(), { id: 'second' }));
  assert.deepEqual(follower.said(), ['pull.file cannot be applied: too many']);
  follower.refuse(undefined);
  await follower.pass(30);
  assert.deepEqual(follower.said(), ['pull.file cannot be applied: too many']);
});

test('a document whose key is still being fetched is tried once a second, without reading it again', async (t) => {
  const follower = start(t, document(service().now()), {
    issuers: [{ issuer: ISSUER, jwksUri: 'https://keys.invalid/' }],
  });
  await follower.settled();
  for (let second = 0; second < 4; second += 1) await follower.pass(1);
  assert.deepEqual(follower.said(), []);
  await follower.pass(1);
  assert.deepEqual([follower.said(), follower.reads()], [['pull.file is refused (unknown_key)'], 1]);
});

test('controls of a document have ends of their own', async (t) => {
  const now = service().now();
  const exp = Math.floor(now / 1000) + 600;
  const controls = [60, 600].map((left) => ({ categories: ['DATABASE'], exp: exp - 600 + left }));
  const follower = start(t, sign(head, claims(now, { controls })));
  await follower.pass(90);
  await follower.put(undefined);
  assert.deepEqual(follower.said(), [
    'begin document-1',
    'begin document-1',
    'end document-1/1: the document was removed',
  ]);
});

test('nothing is switched once it is closed', async (t) => {
  const follower = start(t, document(service().now()));
  await follower.close();
  await follower.pass(60);
  assert.deepEqual([follower.said(), follower.reads()], [[], 1]);
});
