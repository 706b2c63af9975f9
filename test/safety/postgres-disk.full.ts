import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdtempSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { createVerifier } from '../../src/trail/verify.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { HealthResponse } from '../../src/wire/messages.ts';
import { newFolder } from '../support/folder.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { startService, trailIn } from './service.ts';

const mount = (folder: string, options: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0;
const unmount = (folder: string) => spawnSync('umount', ['-l', folder]);

/** A file system of 4 MiB for the length of a test. */
function smallDisk(t: TestContext, owner: { readonly uid: number; readonly gid: number }) {
  let disk = '';
  // Before its directory is removed.
  t.after(() => unmount(disk));
  disk = newFolder(t);
  if (!mount(disk, 'size=4m,mode=700')) throw new Error(whyNoMount() || 'mount failed');
  chownSync(disk, owner.uid, owner.gid);
  return disk;
}

function whyNoMount(): string | false {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-mount-'));
  const mounted = mount(folder, 'size=1m');
  if (mounted) unmount(folder);
  rmdirSync(folder);
  return mounted ? false : 'needs the right to mount a small disk';
}

const skip = process.getuid?.() === 0 ? whyNoMount() || whyNoPostgres() : 'only root can give a disk away';

test('a PostgreSQL whose disk is full refuses changes whole, and takes them again once there is room', {
  skip,
}, async (t) => {
  const server = await startPostgres();
  t.after(() => server.close());
  const disk = smallDisk(t, statSync(server.folder));
  server.sql(`CREATE TABLESPACE small LOCATION '${disk}'`);
  server.sql('ALTER ROLE postgres SET default_tablespace = small');
  const service = await startService(t, { config: { store: server.url } });
  const states = async () => (await service.states()).DATABASE;
  const toggle = () => service.control({ action: 'toggle', categories: 'DATABASE' });
  const storeCheck = async () => {
    const { body } = await service.request<HealthResponse>(PATHS.health, { key: 'status' });
    return body.checks.find(({ name }) => name === 'store');
  };
  assert.equal((await toggle()).status, 200);

  fill(join(disk, 'other'));
  let [changes, before] = [1, await states()];
  for (let answer = await toggle(); answer.status !== 503; answer = await toggle()) {
    assert.equal(answer.status, 200, answer.text);
    changes += 1;
    before = answer.body.changes[0]?.newState;
  }
  t.diagnostic(`${changes} changes until the disk was full`);
  assert.equal(await states(), before, 'what was refused is not in force');
  for (let times = 0; times < 5; times += 1) {
    const check = await storeCheck();
    assert.deepEqual([check?.status, /the disk is full/.test(check?.otelrdcp_reason ?? '')], ['warn', true]);
    const partial = await service.control({ action: 'enable', categories: ['HTTP'], options: { duration: '1h' } });
    assert.equal(partial.body.status, 'partial', partial.text);
    assert.equal((await toggle()).status, 503);
  }

  rmSync(join(disk, 'other'));
  await until('the store to be well', async () => (await storeCheck())?.status === 'pass');
  assert.equal((await toggle()).status, 200);
  assert.equal((await service.states()).HTTP, true);
  const verifier = createVerifier();
  const entries = await trailIn(openStore(server.url));
  for (const entry of entries) verifier.see(entry);
  const { faults, cut } = verifier.finish();
  assert.deepEqual({ faults, cut }, { faults: 0, cut: [] });
  assert.equal(
    entries.filter(({ action, outcome }) => action === 'toggle' && outcome === 'success').length,
    changes + 1,
  );
});

function fill(file: string): void {
  const piece = Buffer.alloc(4096);
  try {
    for (;;) appendFileSync(file, piece);
  } catch (error) {
    assert.equal(Reflect.get(Object(error), 'code'), 'ENOSPC');
  }
}
