import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import { Refusal, serveIntrospection } from '../auth/introspection-server.ts';
import { ACCESS_TOKEN, TOKEN_EXCHANGE, type TokenAnswer, tokenSettings } from '../server/tokens.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';

// What is bad about a credential costs whoever sends it, and nobody else behind the same address.

const KEY = 'a-key-of-an-operator-that-was-made-up-for-this';
/** Where the junk comes from; an operator is behind it too. */
const NAT = '192.0.2.1';
const OTHERS = Array.from({ length: 8 }, (_, index) => `198.51.100.${index}`);

type Ask = (
  path: string,
  from: string,
  request: { token?: string; form?: Record<string, string> },
) => Promise<Response>;

/** A service that believes its proxy who a request comes from. */
async function start(t: TestContext, security: RdcpConfig['security']): Promise<Ask> {
  const rdcp = createRdcp({
    server: { port: 0, trustedProxies: ['127.0.0.1'] },
    security: { level: 'standard', ...security },
    announce: false,
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  t.after(() => rdcp.close());
  const { url } = await rdcp.listen();
  return (path, from, { token, form }) =>
    fetch(url + path, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { 'X-Forwarded-For': from, ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
      ...(form !== undefined && { body: new URLSearchParams(form) }),
    });
}

/** Sends junk, so many at a time, until it is stopped; resolves with how many a second. */
function flood(clients: number, send: (count: number) => Promise<Response>) {
  const begun = performance.now();
  let sent = 0;
  let stopped = false;
  const running = Promise.all(
    Array.from({ length: clients }, async () => {
      while (!stopped) {
        sent += 1;
        await (await send(sent)).arrayBuffer();
      }
    }),
  );
  return async () => {
    stopped = true;
    const seconds = (performance.now() - begun) / 1000;
    await running;
    return Math.round(sent / seconds);
  };
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
}

/** @param tries valid requests of each kind beside the junk */
export function lockNobodyOut(tries: number): void {
  test('junk bearer tokens keep no valid one out, and their issuer is hardly asked', async (t) => {
    const isOdd = (token: string, kind: number) => token.startsWith('junk') && token.endsWith(`${kind}`);
    const issuer = await serveIntrospection(t, async (token) => {
      await sleep(50);
      if (token.startsWith('good')) return { active: true, sub: token, scope: 'status' };
      if (isOdd(token, 1)) return 400;
      if (isOdd(token, 2)) return new Refusal(401, { error: 'invalid_token' });
      return isOdd(token, 3) ? 401 : { active: false };
    });
    const ask = await start(t, {
      introspection: { endpoint: issuer.endpoint, clientId: 'rdcp', clientSecret: 'secret' },
    });
    const status = (token: string, from: string) => statusOf(ask(PATHS.status, from, { token }));
    /** A token without a place among the junk of its address is told to come again, and then has a line of its own. */
    const statusOfSecondTry = async (token: string, from: string) => {
      const first = await status(token, from);
      return first === 429 ? status(token, from) : first;
    };
    assert.equal(await status('good-operator', NAT), 200);

    const flooded = performance.now();
    const stop = flood(40, (count) =>
      ask(PATHS.status, [NAT, ...OTHERS][count % 9] ?? NAT, { token: `junk-${count}` }),
    );
    await until('100 questions to the issuer', () => issuer.asked.length >= 100);
    const before = issuer.asked.length;
    const begun = performance.now();
    const served = { known: 0, unknown: 0, behind: 0 };
    for (let index = 0; index < tries; index += 1) {
      const [known, unknown, behind] = await Promise.all([
        status('good-operator', NAT),
        status(`good-${index}`, '203.0.113.7'),
        statusOfSecondTry(`good-behind-${index}`, NAT),
      ]);
      if (known === 200) served.known += 1;
      if (unknown === 200) served.unknown += 1;
      if (behind === 200) served.behind += 1;
    }
    const seconds = (performance.now() - begun) / 1000;
    const junk = (issuer.asked.length - before - served.unknown - served.behind) / seconds;
    const rate = await stop();
    t.diagnostic(
      `${rate} junk tokens a second: a token seen before is served ${served.known} of ${tries} times from the same address, new ones ${served.behind} of ${tries} from there, at most at the second try, and ${served.unknown} of ${tries} from another; the issuer is asked about ${junk.toFixed(1)} junk tokens a second`,
    );
    assert.deepEqual(served, { known: tries, unknown: tries, behind: tries });
    // An address has its quota again in every further minute; beyond it there are four questions at a time.
    const lasted = (performance.now() - flooded) / 1000;
    const most = 60 * Math.ceil(lasted / 60) * (OTHERS.length + 1) + lasted * (4 / 0.05) + 40 + 3 * tries;
    assert.ok(issuer.asked.length < most, `${issuer.asked.length} questions`);
  });

  inFull(
    'junk at the token endpoints refuses no valid exchange, refresh or revocation from the same address',
    async (t) => {
      const ask = await start(t, {
        apiKeys: [{ id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['status'] }],
        tokens: tokenSettings,
      });
      const refreshToken = `rdcp_rt_${'A'.repeat(22)}.${'A'.repeat(43)}.${'A'.repeat(22)}`;
      const junk: readonly [string, Record<string, string>][] = [
        [TOKEN_PATHS.token, { grant_type: 'refresh_token', refresh_token: refreshToken }],
        [TOKEN_PATHS.token, { grant_type: 'client_credentials', client_id: 'ops', client_secret: 'wrong' }],
        [TOKEN_PATHS.token, { grant_type: TOKEN_EXCHANGE, subject_token: 'a.b.c', subject_token_type: ACCESS_TOKEN }],
        [TOKEN_PATHS.revoke, { token: refreshToken }],
      ];
      let sent = 0;
      const stop = flood(12, (count) => {
        sent = count;
        const [path, form] = junk[count % junk.length] ?? [TOKEN_PATHS.token, {}];
        return ask(path, NAT, { form });
      });
      await until('the junk fills the quotas', () => sent >= 25 * tries);
      const rounds = tries / 2;
      const served = { exchange: 0, refresh: 0, revoke: 0, use: 0 };
      const form = async (path: string, fields: Record<string, string>) => {
        const answer = await ask(path, NAT, { form: fields });
        return { status: answer.status, body: (await answer.json()) as TokenAnswer };
      };
      for (let index = 0; index < rounds; index += 1) {
        const exchange = { grant_type: TOKEN_EXCHANGE, subject_token: KEY, subject_token_type: ACCESS_TOKEN };
        const exchanged = await form(TOKEN_PATHS.token, exchange);
        if (exchanged.status === 200) served.exchange += 1;
        const { refresh_token: token } = exchanged.body;
        const refreshed = await form(TOKEN_PATHS.token, { grant_type: 'refresh_token', refresh_token: token });
        if (refreshed.status === 200) served.refresh += 1;
        const { access_token: accessToken } = refreshed.body;
        if ((await statusOf(ask(PATHS.status, NAT, { token: accessToken }))) === 200) served.use += 1;
        if ((await form(TOKEN_PATHS.revoke, { token: accessToken })).status === 200) served.revoke += 1;
      }
      const rate = await stop();
      t.diagnostic(
        `${rate} junk requests a second: of ${rounds} each are served ${served.exchange} exchanges, ${served.refresh} refreshes, ${served.use} uses, ${served.revoke} revocations`,
      );
      assert.deepEqual(served, { exchange: rounds, refresh: rounds, revoke: rounds, use: rounds });
    },
  );
}
