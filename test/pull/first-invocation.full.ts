// Measures, so nothing runs beside it: the first invocation of a function.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertBuilt } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { AUDIENCE, ISSUER, pairs, pemOf } from '../tickets/tickets.ts';
import { document } from './documents.ts';

const RUNS = 15;
const MAX_SLOWER_MS = 1;

interface Measured {
  readonly took: readonly number[];
  /** The first invocation that had the category on. */
  readonly on?: number;
}

async function run(pull?: object): Promise<Measured> {
  const issuers = [{ issuer: ISSUER, audience: AUDIENCE, publicKey: pemOf(pairs.EdDSA.publicKey) }];
  const config = { security: { tickets: { issuers } }, ...(pull && { pull }) };
  const child = fork(join(import.meta.dirname, 'function.ts'), [JSON.stringify(config)], {
    execArgv: ['--no-warnings'],
  });
  const ended = once(child, 'exit');
  const [measured] = (await once(child, 'message')) as [Measured];
  await ended;
  return measured;
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

test(`the first invocation of a function is at most ${MAX_SLOWER_MS} ms slower with a document, and has its lines`, async (t) => {
  assertBuilt();
  const folder = newFolder(t);
  const [file, other] = [join(folder, 'controls.jwt'), join(folder, 'other.jwt')];
  writeFileSync(file, document(Date.now()));
  // The lines of a category that is on take their time, with and without a document.
  writeFileSync(other, document(Date.now(), { category: 'OTHER' }));
  const without: number[] = [];
  const having: number[] = [];
  for (let times = 0; times < RUNS; times += 1) {
    without.push((await run()).took[0] ?? 0);
    having.push((await run({ file: other })).took[0] ?? 0);
  }
  const [bare, followed] = [median(without), median(having)];
  t.diagnostic(`${bare.toFixed(2)} ms without, ${followed.toFixed(2)} ms with; load ${loadavg()[0]?.toFixed(1)}`);
  assert.ok(followed - bare <= MAX_SLOWER_MS, `${followed} ms, ${bare} ms without a document`);
  assert.equal((await run({ file })).on, 0);
});
