import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { newFolder } from '../support/folder.ts';
import { everyEntry, NOW, until } from './contract/samples.ts';

const CHILD = join(import.meta.dirname, 'sqlite-child.ts');

/** Starts a child on the file; its lines are collected as they come. */
export function startChild(...args: string[]): { child: ChildProcess; lines: string[]; ended: Promise<unknown> } {
  const child = spawn(process.execPath, ['--no-warnings', CHILD, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  reader.on('line', (line) => lines.push(line));
  return { child, lines, ended: Promise.all([once(child, 'exit'), once(reader, 'close')]) };
}

export function killedWriters(rounds: number): void {
  test(`a writer killed ${rounds} times loses nothing it acknowledged and leaves nothing half done`, async (t) => {
    const folder = newFolder(t);
    const file = join(folder, 'state.db');
    let acknowledged = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { child, lines, ended } = startChild('append', file);
      await until(() => lines.length > 1, 'the first acknowledged change', 60_000);
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
    const trail = (await everyEntry(store)).reverse();
    assert.equal(trail.length, acknowledged);
    for (const [index, { compliance }] of trail.entries()) {
      assert.equal(compliance.sequence, index + 1);
      assert.equal(compliance.previousHash, trail[index - 1]?.compliance.hash ?? '0'.repeat(64));
    }
    await store.close();
  });
}
