// Measures, so nothing runs beside it: how fast lines arrive.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { configOf, type Member, startMember } from './fleet.ts';

const CALLS = 1_000_000;
const RATE = 100;
/** Most rows of messages that a file keeps. */
const MAX_ROWS = 500;
/** What a million lines would take by far. SQLite's log is brought back into the file at 4 MiB. */
const MAX_BYTES = 12 * 1024 * 1024;

test(`${CALLS.toLocaleString('en')} calls of a hot category while a tail watches: the file stays small, the reader gets its rate`, async (t) => {
  const folder = newFolder(t);
  const path = join(folder, 'state.sqlite');
  const config = configOf(`sqlite:${path}`, { tenancy: false, categories: { HOT: {} } });
  const start = () => startMember(t, config, 'flooding-member.ts');
  const [serving, ...loud] = (await Promise.all([start(), start(), start()])) as [Member, Member, Member];

  const watched = { rows: 0, bytes: 0, samples: 0 };
  const database = new DatabaseSync(path, { readOnly: true });
  t.after(() => database.close());
  const rows = database.prepare('SELECT count(*) AS rows FROM message');
  const sampling = setInterval(() => {
    watched.samples += 1;
    watched.rows = Math.max(watched.rows, Number(rows.get()?.rows));
    const files = [path, `${path}-wal`].filter((each) => existsSync(each));
    watched.bytes = Math.max(
      watched.bytes,
      files.reduce((sum, each) => sum + statSync(each).size, 0),
    );
  }, 50);
  t.after(() => clearInterval(sampling));

  const joined = new Set<string>();
  let [lines, dropped, begun, done] = [0, 0, 0, 0];
  const flooding = async ({ child }: Member) => {
    child.send(CALLS / loud.length);
    await once(child, 'message');
    done = performance.now();
  };
  let floods: Promise<unknown> | undefined;
  let linesMeanwhile = 0;
  for await (const { event, data } of serving.client.tail('HOT', { duration: '10m', rate: RATE })) {
    if (event === 'instance') joined.add(data.id);
    if (event === 'line') lines += 1;
    if (event === 'dropped') dropped += data.count;
    if (joined.size === 3 && floods === undefined) {
      begun = performance.now();
      floods = Promise.all(loud.map(flooding));
    }
    if (done === 0) linesMeanwhile = lines;
    if (lines + dropped >= CALLS) break;
  }
  await floods;
  clearInterval(sampling);
  const seconds = (done - begun) / 1000;
  const { bytes, samples } = watched;
  t.diagnostic(
    `${lines} lines and ${dropped} dropped in ${seconds.toFixed(1)} s; at most ${watched.rows} rows, ${bytes} bytes in ${samples} samples`,
  );
  assert.equal(lines + dropped, CALLS, 'every call is a line or counted');
  assert.ok(samples > 20 && watched.rows > 0 && watched.rows <= MAX_ROWS, `${watched.rows} rows`);
  assert.ok(bytes <= MAX_BYTES, `${bytes} bytes`);
  // At the beginning the lines of one second may come at once, from each process.
  assert.ok(linesMeanwhile >= RATE * seconds * 0.8, `${linesMeanwhile} lines in ${seconds} s`);
  assert.ok(linesMeanwhile <= RATE * (seconds + 4), `${linesMeanwhile} lines in ${seconds} s`);
  for (const { output } of [serving, ...loud]) assert.equal(output, '', 'nothing goes to the outputs of the service');
});
