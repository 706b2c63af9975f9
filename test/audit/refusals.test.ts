import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { RefusalTallies } from '../../src/trail/refusals.ts';
import type { AuditDraft } from '../../src/trail/types.ts';
import { createVerifier } from '../../src/trail/verify.ts';
import { everyEntry } from '../store/contract/samples.ts';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';
import { openTrail } from './entries.ts';

const MINUTE = 60_000;
const MIB = 2 ** 20;
/** Minutes of the attack. A whole day is 1,440, for figures: RDCP_ATTACK_MINUTES=1440. */
const MINUTES = Number(process.env.RDCP_ATTACK_MINUTES ?? 150);

const USER_AGENT = 'a'.repeat(200);

const stranger = (index: number): AuditDraft => ({
  action: 'authenticate',
  categories: [],
  changes: [],
  outcome: 'denied',
  identity: {},
  requestId: `r-${index}`,
  source: {
    address: `2001:db8:${(index >>> 16).toString(16)}:${(index & 0xffff).toString(16)}::`,
    userAgent: USER_AGENT,
  },
  error: 'RDCP_AUTH_REQUIRED',
});

const known = (index: number, userId = 'reader'): AuditDraft => ({
  ...stranger(index),
  action: 'authorize',
  identity: { method: 'api-key', userId, clientId: userId, scopes: ['status'] },
  error: 'RDCP_FORBIDDEN',
});

const numberOf = (drafts: readonly Pick<AuditDraft, 'count'>[]) =>
  drafts.reduce((sum, { count = 1 }) => sum + count, 0);

test('beyond their share of an hour the refusals of a minute are one entry, and all are counted', () => {
  const tallies = new RefusalTallies(MIB);
  const taken: (readonly AuditDraft[])[] = [];
  for (let minute = 0, index = 0; minute < 61; minute += 1) {
    for (let more = 0; more < 100; more += 1, index += 1) tallies.add(stranger(index));
    taken.push(tallies.takeAll());
  }
  assert.equal(numberOf(taken.flat()), 6100);
  const counts = taken.map(({ length }) => length);
  assert.ok((counts[0] ?? 0) > 10, 'told apart as long as there is room');
  assert.deepEqual(counts.slice(30, 60), Array(30).fill(1));
  assert.ok((counts[60] ?? 0) > 10, 'and again in the next hour');
});

test('strangers who spend theirs leave known identities what is theirs', () => {
  const tallies = new RefusalTallies(MIB);
  for (let minute = 0, index = 0; minute < 30; minute += 1) {
    for (let more = 0; more < 100; more += 1, index += 1) tallies.add(stranger(index));
    tallies.takeAll();
  }
  assert.equal(tallies.isSingle(known(1)), true);
});

test('one identity that spends its share is still named, and no longer has an entry for each refusal', () => {
  const tallies = new RefusalTallies(MIB);
  let singles = 0;
  let taken: readonly AuditDraft[] = [];
  for (let minute = 0, index = 0; minute < 59; minute += 1) {
    for (let more = 0; more < 60; more += 1, index += 1) {
      if (tallies.isSingle(known(index))) singles += 1;
      else tallies.add(known(index));
    }
    taken = tallies.takeAll();
  }
  assert.ok(singles > 0 && singles < 30, `${singles} single entries`);
  assert.deepEqual(
    taken.map(({ identity, count, source }) => [identity.userId, count, source]),
    [['reader', 60, undefined]],
  );
});

test('who looks often makes no more entries than the share allows, and one a minute beyond it', () => {
  const tallies = new RefusalTallies(MIB);
  const perMinute: number[] = [];
  for (let minute = 0, index = 0; minute < 59; minute += 1) {
    let entries = 0;
    for (let more = 0; more < 100; more += 1, index += 1) {
      tallies.add(stranger(index));
      entries += tallies.takeUnwritten().length;
    }
    perMinute.push(entries + tallies.takeAll().length);
  }
  assert.ok(Math.max(...perMinute.slice(30)) <= 2, `${perMinute.slice(30)}`);
});

test('the refusals of a minute are written in the background, and the event loop goes on between them', async () => {
  const time = virtualTime();
  const store = createMemoryStore();
  let written = 0;
  let most = 0;
  let inThisTurn = 0;
  const trail = openTrail({
    store: {
      ...store,
      commit(commit) {
        assert.equal(commit.background, true);
        written += 1;
        inThisTurn += 1;
        most = Math.max(most, inThisTurn);
        setImmediate(() => {
          inThisTurn = 0;
        });
        return store.commit(commit);
      },
    },
    time,
  });
  for (let index = 0; index < 500; index += 1) trail.refused(stranger(index));
  await time.pass(MINUTE);
  assert.equal(written, 51);
  for (let user = 0; user < 150; user += 1) {
    for (let index = 0; index < 12; index += 1) trail.refused(known(1, `user-${user}`));
  }
  await settled();
  most = 0;
  await trail.close();
  assert.ok(most <= 51, `${most} in one turn`);
});

inFull(`${MINUTES} minutes of refusals leave a bounded file, and a chain that can be verified`, async (t) => {
  const folder = newFolder(t);
  const store = createSqliteStore(join(folder, 'state.db'), { lasting: true });
  t.after(async () => {
    await store.close();
  });
  const time = virtualTime();
  const trail = openTrail({ store, time });
  for (let minute = 0, index = 0; minute < MINUTES; minute += 1) {
    for (let more = 0; more < 200; more += 1, index += 1) {
      trail.refused(stranger(index));
      trail.refused(known(index), `/rdcp/v1/${index % 5}`);
    }
    await time.pass(MINUTE);
    await trail.query({ limit: 1 });
  }
  await trail.close();

  const verifier = createVerifier({});
  let count = 0;
  for (const entry of await everyEntry(store)) {
    verifier.see(entry);
    count += entry.count ?? 1;
  }
  const { faults, entries } = verifier.finish();
  assert.equal(faults, 0);
  assert.equal(count, MINUTES * 400, 'no refusal is uncounted');
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  const hours = Math.ceil(MINUTES / 60);
  // What is written, what the database needs beside it, and one entry of each half a minute.
  const most = (hours / 24) * 16 * MIB + MINUTES * 4096 + 8 * MIB;
  t.diagnostic(`${entries} entries, ${(bytes / MIB).toFixed(1)} MiB in ${MINUTES} minutes`);
  assert.ok(bytes < most, `${bytes} bytes`);
});
