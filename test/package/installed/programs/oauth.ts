// As an OAuth client without any library does it: a token, an exchange, a refresh, the end of the session.

import assert from 'node:assert/strict';
import { KEY, service } from './service.ts';

const tokens = { issuer: 'http://localhost', audience: 'rdcp', secret: 's'.repeat(32) };
const { rdcp, url } = await service({ security: { tokens } });
const post = async (path: string, parameters: Record<string, string>) => {
  const authorization = `Basic ${Buffer.from(`ops:${KEY}`).toString('base64')}`;
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams(parameters),
  });
  return { status: answer.status, ...(await answer.json().catch(() => ({}))) };
};
const token = (parameters: Record<string, string>) => post('/rdcp/v1/token', parameters);

const { access_token } = await token({ grant_type: 'client_credentials', scope: 'status' });
const status = async (given: string) =>
  (await fetch(`${url}/rdcp/v1/status`, { headers: { authorization: `Bearer ${given}` } })).status;
assert.equal(await status(access_token), 200);
const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const kind = 'urn:ietf:params:oauth:token-type:access_token';
const session = await token({ grant_type: exchange, subject_token: KEY, subject_token_type: kind });
const next = await token({ grant_type: 'refresh_token', refresh_token: session.refresh_token });
assert.equal(await status(next.access_token), 200);
await post('/rdcp/v1/token/revoke', { token: next.refresh_token });
assert.equal(await status(next.access_token), 401);
await rdcp.close();
