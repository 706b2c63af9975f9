import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite.ts';
import { GLOBAL_SCOPE, type StateStore } from '../../src/store/state-store.ts';
import { change, NOW, until } from './samples.ts';

/** How often a writer is killed; 200 is the figure to reach, each round costs the start of a process. */
const KILL_ROUNDS = Number(process.env.RDCP_KILL_ROUNDS ?? 25);

const CHILD = join(import.meta.dirname, 'sqlite-child.ts');

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rdcp-sqlite-'));
  file = join(folder, 'state.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts a child on the file; its lines are collected as they come. */
function start(...args: string[]): { child: ChildProcess; lines: string[]; ended: Promise<unknown> } {
  const child = spawn(process.execPath, ['--no-warnings', CHILD, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  reader.on('line', (line) => lines.push(line));
  return { child, lines, ended: Promise.all([once(child, 'exit'), once(reader, 'close')]) };
}

/** Every entry of the trail, oldest first. */
async function trailOf(store: StateStore) {
  const entries = [];
  let cursor: string | undefined;
  do {
    const page = await store.queryAudit({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    entries.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return entries.reverse();
}

test(`a writer killed ${KILL_ROUNDS} times loses nothing it acknowledged and leaves nothing half done`, async () => {
  let acknowledged = 0;
  for (let round = 0; round < KILL_ROUNDS; round += 1) {
    const { child, lines, ended } = start('append', file);
    await until(() => lines.length > 1, 'the first acknowledged change', 20_000);
    // Spread over the course of a commit: the delays of the rounds differ by parts of a millisecond.
    await new Promise((resolve) => setTimeout(resolve, 1 + (round % 7)));
    const spin = performance.now() + (round % 10) / 10;
    while (performance.now() < spin);
    child.kill('SIGKILL');
    await ended;

    const last = Number(lines.at(-1));
    assert.ok(last > acknowledged, 'the writer went on where the last one was killed');
    const store = createSqliteStore(file);
    const state = (await store.load()).get(GLOBAL_SCOPE);
    const revision = state?.revision ?? 0;
    // At most the one commit whose acknowledgement the kill cut off.
    assert.ok(revision === last || revision === last + 1, `acknowledged ${last}, kept ${revision}`);
    assert.equal(state?.settings.get('FLIP')?.temporary?.expiresAt, revision);
    assert.equal((await store.findReplay(`request-${revision}`, NOW))?.response, String(revision));
    assert.equal(await store.findReplay(`request-${revision + 1}`, NOW), undefined);
    assert.equal((await store.newestAudit())?.compliance.sequence, revision);
    await store.close();
    acknowledged = revision;
  }

  const store = createSqliteStore(file);
  const trail = await trailOf(store);
  assert.equal(trail.length, acknowledged);
  for (const [index, { compliance }] of trail.entries()) {
    assert.equal(compliance.sequence, index + 1);
    assert.equal(compliance.previousHash, trail[index - 1]?.compliance.hash ?? '0'.repeat(64));
  }
  await store.close();
});

test('two processes that toggle at once lose no change and double none', async () => {
  const writers = [start('toggle', file, '60'), start('toggle', file, '60')];
  await Promise.all(writers.map(({ ended }) => ended));
  assert.deepEqual(
    writers.map(({ child }) => child.exitCode),
    [0, 0],
  );

  const acknowledged = writers.flatMap(({ lines }) => lines.map(Number)).sort((a, b) => a - b);
  assert.deepEqual(
    acknowledged,
    Array.from({ length: 120 }, (_, index) => index + 1),
  );
  const store = createSqliteStore(file);
  const state = (await store.load()).get(GLOBAL_SCOPE);
  assert.equal(state?.revision, 120);
  assert.equal(state?.settings.get('FLIP')?.permanent, false, 'an even number of toggles ends where it began');
  assert.deepEqual(
    (await trailOf(store)).map(({ compliance }) => compliance.sequence),
    acknowledged,
  );
  await store.close();
});

test('a change shows in the other processes of the host within 250 ms', async () => {
  const listeners = [start('listen', file), start('listen', file)];
  await until(() => listeners.every(({ lines }) => lines.length > 0), 'both listeners', 20_000);

  const store = createSqliteStore(file);
  const delays: number[] = [];
  for (let revision = 1; revision <= 8; revision += 1) {
    await store.commit(change('acme', revision - 1, { A: { permanent: true } }));
    const committedAt = Date.now();
    await until(() => listeners.every(({ lines }) => lines.length > revision), `change ${revision} everywhere`);
    for (const { lines } of listeners) {
      const [heard, at] = (lines[revision] as string).split(' ').map(Number) as [number, number];
      assert.equal(heard, revision);
      delays.push(at - committedAt);
    }
  }
  assert.ok(Math.max(...delays) <= 250, `delays in ms: ${delays.join(', ')}`);

  await store.close();
  for (const { child } of listeners) child.stdin?.end();
  await Promise.all(listeners.map(({ ended }) => ended));
});
