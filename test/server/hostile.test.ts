import assert from 'node:assert/strict';
import { PROTOCOL } from '../../src/wire/constants.ts';
import { exchange, parseAnswer } from '../support/raw-http.ts';
import { startServer } from '../support/server.ts';
import { inBoth, rows } from '../support/tiers.ts';
import { ALL_OFF, answersAnything, assertEnvelope, assertNothingLeaks, statesOf } from './anything.ts';
import { HOSTILE } from './hostile-requests.ts';

inBoth('every hostile request is refused in the envelope and changes nothing', async (t) => {
  const server = await startServer(t);
  await Promise.all(
    [0, 1, 2, 3].map(async (lane) => {
      for (const { name, bytes, status, code } of rows(HOSTILE).filter((_, index) => index % 4 === lane)) {
        const answer = parseAnswer(await exchange(server.url, bytes));
        assert.equal(answer?.status, status, name);
        assert.match(answer?.headers.get('content-type') ?? '', /^application\/json/, name);
        assert.equal(answer?.headers.get('x-rdcp-protocol'), PROTOCOL, name);
        assert.match(answer?.headers.get('x-rdcp-request-id') ?? '', /^[0-9a-f-]{36}$/, name);
        assert.equal(answer?.headers.get('cache-control'), 'no-store', name);
        assert.equal(answer?.headers.get('x-content-type-options'), 'nosniff', name);
        assertEnvelope(JSON.parse(answer?.body ?? ''), code);
        assertNothingLeaks(answer?.body ?? '');
      }
    }),
  );
  assert.deepEqual(await statesOf(server), ALL_OFF);
  assert.deepEqual(server.reports, []);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  assert.ok(HOSTILE.length >= 150);
  t.diagnostic(`${HOSTILE.length} hostile requests`);
});

answersAnything(150);
