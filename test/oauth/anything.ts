import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { ACCESS_TOKEN, basic, exchangeKey, post, session, TOKEN_EXCHANGE } from '../server/tokens.ts';
import fc from '../support/fast-check.ts';
import { KEYS } from '../support/server.ts';
import { startAuthorizationServer } from './authorization-server.ts';

const CODES: Readonly<Record<number, readonly string[]>> = {
  400: [
    'invalid_request',
    'invalid_grant',
    'invalid_scope',
    'invalid_target',
    'unauthorized_client',
    'unsupported_grant_type',
    'unsupported_token_type',
  ],
  401: ['invalid_client'],
  415: ['invalid_request'],
};

/** @param runs requests to make up */
export function answersAnything(runs: number): void {
  test('whatever is sent to the endpoints of OAuth is answered as the RFCs have it, and shows no credential', async (t) => {
    // The generators take their time; the connection must not end meanwhile, as an idle one does.
    const server = await startAuthorizationServer(t, { listener: { timeouts: { keepAliveMs: 60_000 } } });
    const { body: kept } = await exchangeKey(server, 'admin');
    const { body: stranger } = await exchangeKey(server, 'status');
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.webUrl());
    const credential = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(KEYS.operator, KEYS.control, stranger.access_token) },
      { weight: 1, arbitrary: text },
    );
    const fields: Readonly<Record<string, fc.Arbitrary<string>>> = {
      grant_type: fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom('client_credentials', 'refresh_token', TOKEN_EXCHANGE) },
        { weight: 1, arbitrary: text },
      ),
      client_id: fc.oneof(fc.constantFrom('operator-client', 'control-client'), text),
      client_secret: credential,
      subject_token: credential,
      subject_token_type: fc.oneof({ weight: 6, arbitrary: fc.constant(ACCESS_TOKEN) }, { weight: 1, arbitrary: text }),
      refresh_token: text,
      token: credential,
      token_type_hint: text,
      scope: fc.oneof(
        fc.subarray([...SCOPES]).map((scopes) => scopes.join(' ')),
        text,
      ),
      audience: fc.oneof(fc.constant('rdcp'), text),
      resource: text,
    };
    const field = fc
      .constantFrom(...Object.keys(fields))
      .chain((name) => (fields[name] as fc.Arbitrary<string>).map((value) => [name, value] as const));
    const client = { client_id: 'operator-client', client_secret: KEYS.operator };
    const right = fc.constantFrom<Readonly<Record<string, string>>>(
      { grant_type: 'client_credentials', ...client },
      { grant_type: TOKEN_EXCHANGE, subject_token: KEYS.operator, subject_token_type: ACCESS_TOKEN },
      { token: stranger.access_token, ...client },
    );
    const form = fc.oneof(
      // A right one, with something else in it.
      {
        weight: 3,
        arbitrary: fc
          .tuple(right, fc.array(field, { maxLength: 2 }))
          .map(([fits, others]) => Object.entries({ ...fits, ...Object.fromEntries(others) })),
      },
      { weight: 2, arbitrary: fc.array(fc.oneof(field, fc.tuple(text, text)), { maxLength: 8 }) },
      text,
    );
    const headers = fc.oneof(
      { weight: 2, arbitrary: fc.constant({}) },
      credential.map((secret) => basic('operator-client', secret.toWellFormed())),
      fc.base64String().map((value) => ({ Authorization: `Basic ${value}` })),
      fc.constantFrom('text/plain', 'application/json').map((type) => ({ 'Content-Type': type })),
    );
    const formOf = (entries: Readonly<Record<string, string>>) => Object.entries(entries);
    const grant = { grant_type: 'client_credentials', ...client };
    /** What few runs would not always come to. */
    const examples: [(typeof TOKEN_PATHS)['token' | 'revoke'], [string, string][], Record<string, string>][] = [
      [TOKEN_PATHS.token, formOf(grant), {}],
      [TOKEN_PATHS.token, formOf({ ...grant, client_secret: 'wrong' }), {}],
      [TOKEN_PATHS.revoke, formOf({ token: 'unknown', ...client }), {}],
    ];
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(TOKEN_PATHS.token, TOKEN_PATHS.revoke),
        form,
        headers,
        async (path, sent, sentHeaders) => {
          const {
            status,
            body,
            text: answered,
            headers: answeredHeaders,
          } = await post<OAuthErrorResponse>(server, path, sent as never, sentHeaders);
          for (const secret of Object.values(KEYS)) assert.ok(!answered.includes(secret));
          assert.equal(answeredHeaders.get('cache-control'), 'no-store');
          const what = status === 200 ? `200 of ${path}` : body.error;
          seen.set(what, (seen.get(what) ?? 0) + 1);
          if (status === 200) return;
          assert.deepEqual(Object.keys(body), ['error', 'error_description']);
          assert.ok(CODES[status]?.includes(body.error), `${status} ${answered}`);
          assert.match(body.error_description ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
          assert.equal(answeredHeaders.has('www-authenticate'), status === 401);
        },
      ),
      { numRuns: runs, examples },
    );
    t.diagnostic(JSON.stringify(Object.fromEntries(seen)));
    const results = [`200 of ${TOKEN_PATHS.token}`, `200 of ${TOKEN_PATHS.revoke}`, 'invalid_client'];
    for (const reached of results) {
      assert.ok((seen.get(reached) ?? 0) > 0, `${reached} was never reached`);
    }
    assert.equal((await session(server, kept.access_token)).status, 200, 'the session of somebody else goes on');
    assert.deepEqual(server.reports, []);
  });
}
