// In a process of its own: it prepares files for all of its tests, and counts the heap.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { openStore } from '../../src/store/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { atMost } from '../support/at-most.ts';
import { fleetOf, tokensOf } from '../support/on-records.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { appendAudit, auditEntry, auditIds, change, NOW, replayRecord, until } from './contract/samples.ts';
import { tamper } from './tamper.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rdcp-sqlite-'));
  file = join(folder, 'state.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A page of a trail takes at most as long as this many scans of all its entries. */
const MOST_SCANS = 3;

/** Bytes in use once garbage is collected. */
function retainedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function hasLockTable(): boolean {
  return existsSync('/proc/locks');
}

/** Whether this process has a lock on the file that keeps other processes from taking it as theirs alone. */
function holdsLock(path: string): boolean {
  const { ino } = statSync(path);
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .some((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `));
}

/** Asserts that opening is refused as a mistake in the configuration, in one line without the path. */
function assertRefused(path: string, problem: RegExp): void {
  assert.throws(
    () => createSqliteStore(path),
    (error) => {
      assert.ok(isRdcpError(error));
      assert.equal(error.code, 'RDCP_CONFIG_INVALID');
      assert.equal(error.details?.field, 'store');
      assert.match(error.message, /^configuration: store: the SQLite file .+$/);
      assert.match(error.message, problem);
      assert.ok(!error.message.includes(folder), error.message);
      return true;
    },
  );
}

test('the file and those beside it are readable for their owner alone', async () => {
  const store = createSqliteStore(file);
  await store.commit(change('acme', 0, { A: { permanent: true } }));
  const files = readdirSync(folder);
  assert.deepEqual(files.toSorted(), ['state.db', 'state.db-shm', 'state.db-wal']);
  for (const name of files) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
  await store.close();
});

inBoth('processes that open a new file at the same moment all find a file of ours', async () => {
  const threads = 3;
  const files = Array.from({ length: runs(40) }, (_, index) => join(folder, `${index}.db`));
  const arrived = new Int32Array(new SharedArrayBuffer(4 * files.length));
  const problems = await Promise.all(
    Array.from({ length: threads }, async () => {
      const thread = new Worker(join(import.meta.dirname, 'sqlite-thread.ts'), {
        workerData: { files, arrived, threads },
      });
      const [found] = await once(thread, 'message');
      await thread.terminate();
      return found as string[];
    }),
  );
  assert.deepEqual(problems.flat(), []);
});

test('a process keeps its lock on the file, although it opens it again', { skip: !hasLockTable() }, async () => {
  // Without it, another process that closes last but one takes the log of changes away from under this one.
  const store = createSqliteStore(file);
  await store.commit(change('acme', 0, { A: { permanent: true } }));
  assert.ok(holdsLock(file), 'opened once');
  await fleetOf(store).announce({ id: 'a', host: 'host', pid: 1, service: 'shop', startedAt: NOW }, undefined);
  const again = createSqliteStore(file);
  await again.load();
  assert.ok(holdsLock(file), 'opened three times');
  await again.close();
  await store.close();
});

test('a file name that SQLite would read as something else is a file', async () => {
  const previous = process.cwd();
  process.chdir(folder);
  try {
    for (const name of [':memory:', 'file:state?mode=memory']) {
      await openStore(`sqlite:${name}`).close();
      assert.ok(readdirSync(folder).includes(name), name);
    }
  } finally {
    process.chdir(previous);
  }
});

const REFUSED: readonly (readonly [what: string, make: () => unknown, problem: RegExp])[] = [
  [
    'is no database',
    () => writeFileSync(file, 'long enough to hold the header of one; '.repeat(30)),
    /is not a SQLite/,
  ],
  [
    'is of another application',
    () => tamper(file, 'CREATE TABLE customer (id INTEGER PRIMARY KEY)'),
    /is the SQLite database of another application$/,
  ],
  [
    'is of a newer release',
    async () => {
      await createSqliteStore(file).close();
      tamper(file, 'PRAGMA user_version = 999');
    },
    /was written by a newer release of this package \(schema 999; this release knows \d+\)$/,
  ],
  ['is a directory', () => mkdirSync(file), /is a directory$/],
];
for (const [what, make, problem] of REFUSED) {
  test(`a file that ${what} is refused, and left as it is`, async () => {
    await make();
    const content = () => (statSync(file).isDirectory() ? readdirSync(file) : readFileSync(file));
    const before = content();
    assertRefused(file, problem);
    assert.deepEqual(content(), before);
  });
}

test('a folder that does not exist is refused', () => {
  assertRefused(join(folder, 'missing', 'state.db'), /cannot be created: its directory does not exist$/);
});

test('a file of version 1 is brought to this version with state, trail, kept answers, sessions and revocations', async () => {
  const first = createSqliteStore(file);
  const replay = replayRecord();
  const commit = change('acme', 0, { A: { permanent: true } }, { replay });
  await first.commit(commit);
  await first.close();
  tamper(
    file,
    `DROP TABLE record;
    CREATE TABLE token_session (id TEXT PRIMARY KEY, current TEXT, data TEXT, expires_at INTEGER);
    CREATE TABLE token_revocation (position INTEGER PRIMARY KEY, session TEXT, until INTEGER);
    CREATE TABLE fleet (id TEXT);
    CREATE TABLE category_list (id TEXT);
    INSERT INTO token_session VALUES ('s', 'hash', '{"a":1}', ${NOW + 60_000});
    INSERT INTO token_revocation VALUES (7, 'r', ${NOW + 60_000});
    PRAGMA user_version = 1;`,
  );
  const store = createSqliteStore(file);
  assert.deepEqual([...((await store.load()).get('acme')?.settings ?? [])], [['A', { permanent: true }]]);
  assert.deepEqual(await store.newestAudit(), commit.audit);
  assert.deepEqual({ ...(await store.findReplay(replay.key, NOW)) }, replay);
  const tokens = tokensOf(store);
  assert.deepEqual(await tokens.find('s', NOW), { id: 's', current: 'hash', data: '{"a":1}', expiresAt: NOW + 60_000 });
  assert.deepEqual((await tokens.revocations(0, NOW)).revoked, [{ sessionId: 'r', until: NOW + 60_000 }]);
  await store.close();
});

test('a damaged file is refused or rejects, and never reads as an empty state', async () => {
  const store = createSqliteStore(file);
  await store.commit(change('acme', 0, { A: { permanent: true } }));
  await store.close();
  writeFileSync(file, readFileSync(file).fill(0xa5, 4096));
  await assert.rejects(async () => {
    const damaged = createSqliteStore(file);
    try {
      await damaged.load();
    } finally {
      await damaged.close();
    }
  });
});

test('while another program holds the lock a commit rejects soon and changes nothing; then it works', async () => {
  const store = createSqliteStore(file);
  await store.commit(change('acme', 0, { A: { permanent: true } }));
  const holder = new DatabaseSync(file);
  holder.exec('BEGIN IMMEDIATE');

  const began = performance.now();
  await assert.rejects(store.commit(change('acme', 1, {})), /locked/);
  assert.ok(performance.now() - began < atMost(10_000));
  assert.equal((await store.load()).get('acme')?.revision, 1);
  await store.check();

  holder.exec('ROLLBACK');
  holder.close();
  assert.equal((await store.commit(change('acme', 1, {}))).outcome, 'committed');
  assert.equal((await auditIds(store)).length, 2);
  await store.close();
});

test('a full disk rejects the commit and the check, leaves nothing half written, and what was there stays readable', async () => {
  // A limit on the size of files is a disk that is full for this process, without mounting one.
  const script = `
    import { createSqliteStore } from ${JSON.stringify(join(import.meta.dirname, '../../src/store/sqlite/store.ts'))};
    import { change, auditIds } from ${JSON.stringify(join(import.meta.dirname, 'contract/samples.ts'))};
    const store = createSqliteStore(process.argv[1]);
    let committed = 0, failed;
    while (failed === undefined && committed < 10_000) {
      await store.commit(change('acme', committed, { A: { temporary: { enabled: true, expiresAt: committed + 1 } } })).then(
        () => { committed += 1; },
        (error) => { failed = error.message; },
      );
    }
    const state = (await store.load()).get('acme');
    const entries = (await auditIds(store)).length;
    // There may be room for a page left, where there is none for a commit.
    let problem;
    for (let checks = 0; problem === undefined && checks < 8; checks += 1) problem = await store.check().catch(String);
    console.log(JSON.stringify({ committed, failed, problem, revision: state.revision, at: state.settings.get('A').temporary.expiresAt, entries }));
  `;
  const limited = spawnSync(
    'sh',
    [
      '-c',
      'trap "" XFSZ; ulimit -f 800; exec "$0" --no-warnings --input-type=module -e "$1" -- "$2"',
      process.execPath,
      script,
      file,
    ],
    { encoding: 'utf8' },
  );
  assert.equal(limited.status, 0, limited.stderr);
  const told = JSON.parse(limited.stdout);
  for (const problem of [told.failed, told.problem]) assert.match(problem, /disk|full|I\/O/);
  assert.ok(told.committed > 0 && told.committed < 10_000);
  assert.deepEqual(
    { revision: told.revision, at: told.at, entries: told.entries },
    { revision: told.committed, at: told.committed, entries: told.committed },
  );

  const store = createSqliteStore(file);
  assert.equal((await store.load()).get('acme')?.revision, told.committed);
  assert.equal((await store.commit(change('acme', told.committed, {}))).outcome, 'committed');
  await store.close();
});

test('very many scopes are loaded without keeping the event loop from others, with what changes meanwhile', async () => {
  const store = createSqliteStore(file);
  const other = createSqliteStore(file);
  tamper(
    file,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
      INSERT INTO scope SELECT 'tenant-' || i, 1, '[]', ${NOW}, i, 'filler' FROM n`,
  );
  let turns = 0;
  let loading = true;
  (function turn(): void {
    turns += 1;
    if (loading) setImmediate(turn);
  })();
  const loaded = store.load();
  await other.commit(change('tenant-1', 1, { A: { permanent: true } }));
  await other.commit(change('tenant-9999', 1, { A: { permanent: true } }));
  const scopes = new Map(await loaded);
  loading = false;
  assert.equal(scopes.size, 10_000);
  assert.ok(turns > 10, `${turns} turns of the event loop`);
  const stop = store.subscribe((scope, state) => scopes.set(scope, state));
  await until(
    () => scopes.get('tenant-1')?.revision === 2 && scopes.get('tenant-9999')?.revision === 2,
    'both changes',
  );
  stop();
  await store.close();
  await other.close();
});

inBoth('a page of a long trail is read in memory that does not grow with the trail, whatever the filter', async () => {
  const store = createSqliteStore(file);
  const rows = runs(100_000);
  await appendAudit(store, [auditEntry({ outcome: 'denied', identity: { clientId: 'rare' }, categories: ['RARE'] })]);
  const filler = new DatabaseSync(file);
  filler.exec('PRAGMA synchronous = OFF; BEGIN');
  const insert = filler.prepare(
    "INSERT INTO audit (at, action, outcome, client, retain_until, entry) VALUES (?, 'enable', 'success', 'console', ?, ?)",
  );
  const category = filler.prepare("INSERT INTO audit_category (position, category) VALUES (?, 'DATABASE')");
  const entry = JSON.stringify(auditEntry());
  for (let index = 0; index < rows; index += 1) {
    category.run(insert.run(NOW + index, NOW + index, entry).lastInsertRowid);
  }
  filler.exec('COMMIT');
  const scan = filler.prepare("SELECT count(*) FROM audit WHERE entry LIKE '%in no entry%'");

  const queries = [
    {},
    { client: 'rare' },
    { outcome: 'denied' as const },
    { category: 'RARE' },
    { category: 'DATABASE' },
    { since: NOW + rows - 5 },
    { until: NOW + 1 },
    { since: NOW + 5, until: NOW + 10 },
    { client: 'console', until: NOW + 50 },
  ];
  const before = retainedBytes();
  for (const query of queries) {
    // Beside SQLite's own scan of the entries. The best of some: a busy machine makes only some of them slow.
    let scans = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 10 && scans >= MOST_SCANS; tries += 1) {
      const start = performance.now();
      scan.get();
      const began = performance.now();
      const { entries } = await store.queryAudit({ limit: 100, ...query });
      scans = Math.min(scans, (performance.now() - began) / (began - start));
      assert.ok(entries.length > 0, JSON.stringify(query));
    }
    assert.ok(scans < MOST_SCANS, `${JSON.stringify(query)} took as long as ${scans} scans`);
  }
  let cursor: string | undefined;
  let read = 0;
  let most = 0;
  do {
    const page = await store.queryAudit({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    read += page.entries.length;
    cursor = page.next;
    if (read % 10_000 === 0) most = Math.max(most, retainedBytes());
  } while (cursor !== undefined);
  assert.equal(read, rows + 1);
  // A row is over 800 bytes as text: 16 MB in the fast tier, 80 MB in the full one.
  assert.ok(most - before < 8 * 2 ** 20, `memory in use grew by ${Math.round((most - before) / 2 ** 20)} MiB`);
  await store.close();
});

test('SQLite is loaded by the first SQLite store, not by the import', () => {
  const script = `
    const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/store/open.ts'))});
    const loaded = () => process.moduleLoadList.includes('NativeModule sqlite');
    const before = loaded();
    openStore('memory:');
    const memory = loaded();
    openStore('sqlite:' + process.argv[1]);
    console.log(JSON.stringify([before, memory, loaded()]));
  `;
  const told = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', script, '--', file]);
  assert.deepEqual(JSON.parse(String(told)), [false, false, true]);
});
