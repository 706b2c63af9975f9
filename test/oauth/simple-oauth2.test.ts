import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientCredentials, type ModuleOptions } from 'simple-oauth2';
import { hashApiKey } from '../../src/access/api-key.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import { bearer } from '../server/tokens.ts';
import { type AuthorizationServer, startAuthorizationServer } from './authorization-server.ts';

// A stock client that discovers nothing: it is told the paths.

/** Secrets of an operator's own making, with what HTTP Basic, forms and URLs read in another way. */
const AWKWARD = [
  'base64+with/padding+and+more+than+32==',
  '100%25-of-what-a-key-must-have-at-least',
  'a:b&c=d;e%zz+%2Bf?g#h@i!j~k*l(m)n',
];
const RECORDS = AWKWARD.map((secret, index) => ({
  id: `awkward-${index}`,
  hash: hashApiKey(secret),
  clientId: `client-${index}.of_ours`,
  scopes: ['status' as const],
}));

function connect(
  { issuer }: Pick<AuthorizationServer, 'issuer'>,
  client: ModuleOptions['client'],
  options: ModuleOptions['options'] = {},
) {
  return new ClientCredentials({
    client,
    auth: { tokenHost: issuer, tokenPath: TOKEN_PATHS.token, revokePath: TOKEN_PATHS.revoke },
    options,
  });
}

/** What the library throws: an error of Boom, with the answer as JSON. */
const isRefused = (error: string, status: number) => (thrown: unknown) => {
  const { output, data } = thrown as { output: { statusCode: number }; data: { payload: { error: string } } };
  assert.deepEqual([data.payload.error, output.statusCode], [error, status]);
  return true;
};

for (const [way, options] of Object.entries({
  'HTTP Basic, form-encoded': { credentialsEncodingMode: 'strict' },
  'the body': { authorizationMethod: 'body' },
} as const satisfies Record<string, ModuleOptions['options']>)) {
  test(`a secret of any characters is taken by ${way}`, async (t) => {
    const server = await startAuthorizationServer(t, { security: { apiKeys: RECORDS } });
    for (const [index, secret] of AWKWARD.entries()) {
      const id = `client-${index}.of_ours`;
      const { token } = await connect(server, { id, secret }, options).getToken({ scope: 'status' });
      const answer = await server.request(PATHS.status, { headers: bearer(String(token.access_token)) });
      assert.equal(answer.status, 200, secret);
      await assert.rejects(
        connect(server, { id, secret: `${secret}+` }, options).getToken({}),
        isRefused('invalid_client', 401),
      );
    }
  });
}
