import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PATHS, PROTOCOL } from '../../src/wire/constants.ts';
import type { ErrorResponse, MetricsResponse } from '../../src/wire/messages.ts';
import { CATEGORIES } from '../support/categories.ts';
import fc from '../support/fast-check.ts';
import { newFolder } from '../support/folder.ts';
import { exchange, parseAnswer } from '../support/raw-http.ts';
import { KEYS } from '../support/server.ts';
import { MALFORMED } from './bad-requests/draft.ts';
import { badRequest } from './bad-requests/generated.ts';
import { KNOWN } from './bad-requests/known.ts';
import { CANARY } from './bad-requests/text.ts';
import { startService, trailOf } from './service.ts';

/** Sent at the same time. */
const AT_ONCE = 20;

const ALL_OFF = Object.fromEntries(CATEGORIES.map((name) => [name, false]));

/** No credential is shown, not even a wrong one. */
function assertNoCredential(text: string): void {
  for (const secret of [...Object.values(KEYS), CANARY]) assert.ok(!text.includes(secret), `a credential in: ${text}`);
}

/** What is told shows nothing of the code behind. */
function assertNothingLeaks(text: string): void {
  assertNoCredential(text);
  assert.doesNotMatch(text, /node_modules|node:internal|\.[jt]s:\d|\n\s+at /);
  assert.ok(!text.includes(process.cwd()), `a path in: ${text}`);
}

function assertRefused(name: string, text: string, codes: readonly string[], exactly?: number): void {
  assert.equal(text.split('HTTP/1.1 ').length - 1, 1, `${name}: one answer, not: ${text}`);
  const answer = parseAnswer(text);
  const status = answer?.status ?? 0;
  assert.ok(exactly === undefined ? status >= 400 && status < 500 : status === exactly, `${name}: ${text}`);
  assert.match(answer?.headers.get('content-type') ?? '', /^application\/json/, name);
  assert.equal(answer?.headers.get('x-rdcp-protocol'), PROTOCOL, name);
  assert.match(answer?.headers.get('x-rdcp-request-id') ?? '', /^[0-9a-f-]{36}$/, name);
  assert.equal(answer?.headers.get('cache-control'), 'no-store', name);
  assert.equal(answer?.headers.get('x-content-type-options'), 'nosniff', name);
  const { protocol, error }: ErrorResponse = JSON.parse(answer?.body ?? '');
  assert.equal(protocol, PROTOCOL, name);
  assert.equal(error.protocol, PROTOCOL, name);
  assert.ok(error.message.length > 0, name);
  assert.ok(codes.includes(error.code), `${name}: ${error.code} is none of ${codes}: ${error.message}`);
  assertNothingLeaks(text);
}

export function refusesBadRequests(count: number): void {
  test(`${count} bad requests are each refused in the envelope, and leave no trace but in the trail`, async (t) => {
    const directory = newFolder(t);
    const file = join(directory, 'state.db');
    const service = await startService(t, { config: { store: `sqlite:${file}` }, logsRecords: true });

    const atOnce = fc.array(badRequest, { minLength: AT_ONCE, maxLength: AT_ONCE });
    const sendAll = fc.asyncProperty(atOnce, async (requests) => {
      const send = async ({ name, bytes, codes }: (typeof requests)[number]) =>
        assertRefused(name, await exchange(service.url, bytes), codes);
      await Promise.all(requests.map(send));
      assert.deepEqual(await service.states(), ALL_OFF);
    });
    await fc.assert(sendAll, { numRuns: count / AT_ONCE, endOnFailure: true });
    for (const { name, bytes, status, code } of KNOWN) {
      assertRefused(name, await exchange(service.url, bytes), [code], status);
    }
    const [{ bytes: whole } = assert.fail()] = KNOWN;
    for (const length of [1, 10, 30, 60, 90, whole.length - 1]) {
      const cutOff = await exchange(service.url, whole.subarray(0, length), (socket) => void socket.end());
      assertRefused(`only ${length} bytes`, cutOff, [MALFORMED], 400);
    }
    assert.deepEqual(await service.states(), ALL_OFF);
    t.diagnostic(`${count} generated and ${KNOWN.length} known ones`);

    const { body } = await service.request<MetricsResponse>(PATHS.metrics, { key: 'admin' });
    assert.equal(body.metrics.temporaryControls?.value, 0);
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 0);
    assert.equal(service.output.stderr, '');
    assertNothingLeaks(service.output.stdout);

    const trail = await trailOf(file);
    const refused = trail.filter(({ outcome }) => outcome === 'denied' || outcome === 'failed');
    const refusals = refused.reduce((sum, { count = 1 }) => sum + count, 0);
    assert.ok(refusals > Math.min(100, count / 4), `${refusals} refusals in ${refused.length} entries`);
    t.diagnostic(`${refusals} refusals in ${refused.length} entries`);
    assert.deepEqual(
      trail.filter((entry) => !refused.includes(entry)),
      [],
    );
    assert.ok(service.output.stdout.includes('rdcp.audit'), 'records were looked at');
    for (const name of readdirSync(directory)) assertNoCredential(readFileSync(join(directory, name), 'latin1'));
  });
}
