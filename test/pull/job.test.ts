import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { rdcp as command } from '../cli/run.ts';
import { run } from '../safety/program.ts';
import { assertBuilt } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { serve } from '../work/following.ts';
import { ISSUERS, signingService } from './signing-service.ts';

const JOB = join(import.meta.dirname, 'job.ts');

/** A job that follows a document, and how to sign one for it. */
async function start(t: TestContext, pull: object, store: string) {
  assertBuilt();
  const { env } = await signingService(t);
  const sign = async (...options: string[]) => {
    const { code, stdout, stderr } = await command(['enable', 'IMPORT', '--print', ...options], { env });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const config = { pull: { every: '1s', ...pull }, store, security: { tickets: { issuers: ISSUERS } } };
  const job = run(t, JOB, { args: [JSON.stringify(config)] });
  /** What was written, with the times. */
  const written = () =>
    [...job.output.stdout.matchAll(/^(\d+) (.+)$/gm)].map(([, at, line]) => ({ at: Number(at), line }));
  return { job, sign, written, lines: () => written().map(({ line }) => line) };
}

async function trailOf(file: string) {
  const store = createSqliteStore(file);
  const { entries } = await store.queryAudit({ limit: 100 });
  await store.close();
  return entries.toReversed();
}

test('a job without a port follows a file: what it says is on until its end, and ends when the file is removed', async (t) => {
  const folder = newFolder(t);
  const file = join(folder, 'controls.jwt');
  const state = join(folder, 'state.db');
  const { job, sign, written, lines } = await start(t, { file }, `sqlite:${state}`);
  const put = (text: string) => {
    writeFileSync(`${file}.next`, text);
    renameSync(`${file}.next`, file);
  };

  put(await sign('--for', '10m', '-m', 'user.id=42', '--reason', 'slow import'));
  await until('lines', () => lines().length > 5);
  assert.deepEqual([...new Set(lines())], ['row of 42']);
  assert.match(job.output.stderr, /^rdcp: IMPORT on for work with user\.id for \w+ by ops: slow import$/m);
  put('not signed');
  await until('what is wrong', () =>
    /pull\.file is refused \(malformed\); nothing new is switched/.test(job.output.stderr),
  );
  const before = lines().length;
  await until('more lines', () => lines().length > before);
  rmSync(file);
  await until('the end', () => /^rdcp: IMPORT off again .*: the document was removed$/m.test(job.output.stderr));
  const last = await sign('--for', '5s');
  put(last);
  await until('lines of everybody', () => lines().includes('row of 43'));
  await until('its end', () => /^rdcp: IMPORT off again, the time is over$/m.test(job.output.stderr));

  job.child.send('end');
  assert.equal(await job.ended, 0);
  const { exp } = JSON.parse(Buffer.from(last.split('.')[1] ?? '', 'base64url').toString());
  const late = written().filter(({ at }) => at > exp * 1000);
  // The timer of the end may come after two of the job's own, of two lines each.
  assert.ok(late.length <= 4, `${late.length} lines after the end`);
  const entries = await trailOf(state);
  assert.deepEqual(
    entries.map(({ action, identity, reason }) => [action, identity.userId, identity.clientId, reason]),
    [
      ['enable', 'ops', 'https://ops.example', 'slow import'],
      ['reset', 'ops', 'https://ops.example', 'the document was removed'],
      ['enable', 'ops', 'https://ops.example', undefined],
      ['expire', undefined, undefined, undefined],
    ],
  );
});

test('a job follows an address, and goes on where that does not answer', async (t) => {
  let answer: { status: number; text: string } | undefined = { status: 500, text: 'out of order' };
  const address = await serve(t, (_, response) => {
    if (answer !== undefined) response.writeHead(answer.status).end(answer.text);
  });
  const url = `${address}/controls`;
  const { job, sign, lines } = await start(t, { url }, 'memory:');
  await until('what is wrong', () => /pull\.url answers with status 500; nothing new/.test(job.output.stderr));
  answer = { status: 200, text: await sign() };
  await until('lines', () => lines().includes('row of 43'));
  assert.match(job.output.stderr, /the document of controls can be used again/);
  answer = undefined;
  await until('what is wrong then', () => /pull\.url does not answer in time; nothing new/.test(job.output.stderr));
  const before = lines().length;
  await until('more lines', () => lines().length > before);
});

test('a job that ends by itself does not wait for an address that is silent', async (t) => {
  const asked = Promise.withResolvers<void>();
  const url = await serve(t, () => asked.resolve());
  assertBuilt();
  const config = { pull: { url }, security: { tickets: { issuers: ISSUERS } } };
  const job = run(t, JOB, { args: [JSON.stringify(config), 'short'] });
  await asked.promise;
  job.child.send('end');
  assert.equal(await job.ended, 0, job.output.stderr);
  assert.doesNotMatch(job.output.stderr, /does not answer in time/);
});
