import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADERS, PATHS, PROTOCOL } from '../../src/wire/constants.ts';
import type { ControlResponse, ErrorResponse, StatusResponse } from '../../src/wire/messages.ts';
import { CATEGORIES } from '../support/categories.ts';
import fc from '../support/fast-check.ts';
import { KEYS, startServer, type TestServer } from '../support/server.ts';

export function assertEnvelope(body: ErrorResponse, code?: string): void {
  assert.equal(body.protocol, PROTOCOL);
  assert.equal(body.error.protocol, PROTOCOL);
  assert.match(body.error.code, /^[A-Z0-9_]{3,64}$/);
  assert.ok(body.error.message.length > 0);
  if (code !== undefined) assert.equal(body.error.code, code);
}

export function assertNothingLeaks(text: string): void {
  for (const key of Object.values(KEYS)) assert.ok(!text.includes(key), 'a credential');
  assert.doesNotMatch(text, /node_modules|node:internal|\.[jt]s:\d|\n\s+at |\/work\/|koa|zod/i);
}

export async function statesOf(server: TestServer): Promise<Readonly<Record<string, boolean>>> {
  return (await server.request<StatusResponse>(PATHS.status, { key: 'status' })).body.categories;
}

export const ALL_OFF = Object.fromEntries(CATEGORIES.map((name) => [name, false]));

const mostly = <T, U>(right: fc.Arbitrary<T>, wrong: fc.Arbitrary<U>): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 8, arbitrary: right }, { weight: 1, arbitrary: wrong });

/** Bodies from plain noise to right ones. */
const body = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.uint8Array({ maxLength: 200 }), {
  weight: 4,
  arbitrary: fc
    .record(
      {
        action: mostly(fc.constantFrom('enable', 'disable', 'toggle', 'reset', 'status'), fc.jsonValue()),
        categories: mostly(
          fc.oneof(fc.constantFrom(...CATEGORIES), fc.uniqueArray(fc.constantFrom(...CATEGORIES, 'NO_SUCH'))),
          fc.jsonValue(),
        ),
        options: mostly(
          fc.record(
            {
              temporary: mostly(fc.boolean(), fc.jsonValue()),
              duration: mostly(fc.constantFrom(30, '60s', '10m', '24h'), fc.oneof(fc.integer(), fc.jsonValue())),
              reason: mostly(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
            },
            { requiredKeys: [] },
          ),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: ['action'] },
    )
    .chain((right) =>
      mostly(
        fc.constant(right),
        fc.string().map((name) => ({ ...right, [name]: 1 })),
      ),
    )
    .map((value) => JSON.stringify(value)),
});

const headerValue = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });
const headers = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.record(
    {
      [HEADERS.requestId]: headerValue,
      [HEADERS.clientId]: headerValue,
      [HEADERS.tenantId]: headerValue,
      [HEADERS.isolationLevel]: headerValue,
      [HEADERS.authMethod]: headerValue,
      [HEADERS.apiKey]: headerValue,
      [HEADERS.protocol]: headerValue,
      [HEADERS.tenantName]: headerValue,
      Accept: fc.oneof(headerValue, fc.constant('*/*')),
      Authorization: headerValue,
      'Content-Type': fc.oneof(headerValue, fc.constant('application/json')),
      Origin: headerValue,
    },
    { requiredKeys: [] },
  ),
);
const target = fc.oneof(
  { weight: 5, arbitrary: fc.constant(PATHS.control as string) },
  { weight: 1, arbitrary: fc.webPath().map((path) => `/rdcp/v1${path.startsWith('/') ? path : `/${path}`}`) },
);

/** @param runs requests to make up */
export function answersAnything(runs: number): void {
  test('whatever is sent is answered, and what is not accepted has no effect', async (t) => {
    const server = await startServer(t);
    let refused = 0;
    let accepted = 0;
    const expected: Record<string, boolean> = { ...ALL_OFF };
    await fc.assert(
      fc.asyncProperty(target, body, headers, async (path, sent, sentHeaders) => {
        const answer = await server.request<ErrorResponse & ControlResponse>(path, {
          method: 'POST',
          key: 'operator',
          body: sent,
          headers: sentHeaders,
        });
        assertNothingLeaks(answer.text);
        if (answer.status === 200) {
          accepted += 1;
          for (const { category, previousState, newState } of answer.body.changes) {
            assert.equal(previousState, expected[category]);
            expected[category] = newState;
          }
        } else {
          refused += 1;
          assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status}`);
          assertEnvelope(answer.body);
        }
      }),
      { numRuns: runs },
    );
    assert.deepEqual(await statesOf(server), expected);
    assert.deepEqual(server.reports, []);
    assert.ok(accepted > runs / 100 && refused > runs / 3);
    t.diagnostic(`${refused} refused, ${accepted} accepted`);
  });
}
