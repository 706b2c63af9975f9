import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { enable, rowOf, signIn, typeCredential, waitForState } from './drive.ts';
import { assertAccessible, browserTest, KEY_RECORDS, KEYS, openPage, startService } from './support.ts';
import { openConsole, openView } from './views.ts';

const tokens = {
  issuer: 'https://service.example/',
  audience: 'rdcp',
  secret: 'the secret that tokens are signed with',
};
const ISSUING: RdcpConfig = { security: { level: 'standard', tokens } };

/** Everything that the page says to its server. */
function requestsOf(page: Page): Request[] {
  const requests: Request[] = [];
  page.on('request', (request) => requests.push(request));
  return requests;
}

browserTest('where tokens are issued the key is sent once, and is nowhere afterwards', async (t, browser) => {
  const service = await startService(t, ISSUING);
  const { page, context } = await openPage(t, browser, service.console);
  const requests = requestsOf(page);
  await signIn(page, KEYS.admin);
  await enable(page, 'DATABASE', 'slow checkout');
  const withKey = requests.filter((request) =>
    JSON.stringify([request.headers(), request.postData()]).includes(KEYS.admin),
  );
  assert.deepEqual(
    withKey.map((request) => new URL(request.url()).pathname),
    ['/rdcp/v1/token'],
  );
  assert.deepEqual(await context.cookies(), []);
  const kept = await page.evaluate(async () => ({
    local: { ...localStorage },
    session: { ...sessionStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    address: location.href,
    state: history.state,
    html: document.documentElement.outerHTML,
    window: Object.keys(window).filter((name) => typeof Reflect.get(window, name) === 'string'),
  }));
  assert.deepEqual([kept.local, kept.session, kept.databases, kept.caches], [{}, {}, [], []]);
  const rest = JSON.stringify(kept);
  assert.ok(!rest.includes(KEYS.admin) && !/eyJ[\w-]+\./.test(rest));
});

browserTest('a session is renewed before it ends, without a trace on the page', async (t, browser) => {
  const service = await startService(t, {
    security: { level: 'standard', tokens: { ...tokens, accessTokenSeconds: 4 } },
  });
  const { page } = await openPage(t, browser, service.console);
  const requests = requestsOf(page);
  await signIn(page, KEYS.admin);
  await until('the session is renewed twice', async () => {
    const refreshed = requests.filter((request) => request.postData()?.includes('grant_type=refresh_token') === true);
    return refreshed.length >= 2;
  });
  await enable(page, 'DATABASE', 'slow checkout');
  await waitForState(page, 'DATABASE', 'On');
});

browserTest('a session that ends asks for the credential and goes on where it was', async (t, browser) => {
  const { page } = await openConsole(t, browser, {
    config: {
      security: { level: 'standard', tokens: { ...tokens, accessTokenSeconds: 3, refreshTokenSeconds: 5 } },
    },
  });
  await page.getByRole('button', { name: 'Enable DATABASE' }).click();
  await page.getByLabel('Reason').fill('typed before');
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor();
  await assertAccessible(page, 'an expired session');
  await typeCredential(page, KEYS.admin);
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Reason').inputValue(), 'typed before');
  await page.getByRole('button', { name: /^Enable .*15 min/ }).click();
  await rowOf(page, 'DATABASE').getByText('typed before').waitFor();
});

browserTest('a key that is revoked in the middle is not believed any more, within seconds', async (t, browser) => {
  const { service, revoke } = await withRevocableKey(t);
  const { page } = await openView(t, browser, service.console, { key: KEYS.operator });
  revoke();
  await page.locator('dialog #credential').waitFor();
  await typeCredential(page, KEYS.operator);
  await page.locator('dialog').getByRole('alert').waitFor();
});

browserTest('a service that stops and comes back is found again by itself', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openPage(t, browser, service.console, {
    provoked: [/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/],
  });
  await signIn(page, KEYS.admin);
  await service.rdcp.close();
  await page.getByText('No connection').waitFor();
  const again = await startService(t, { server: { port: Number(new URL(service.url).port) } });
  await page.getByText('Live', { exact: true }).waitFor();
  await createRdcpClient({ baseUrl: again.url, apiKey: KEYS.admin }).enable('ORDERS', { duration: '5m' });
  await waitForState(page, 'ORDERS', 'On');
});

browserTest('a hidden page asks for nothing, and is up to date when it is visible again', async (t, browser) => {
  const service = await startService(t);
  const { page, context } = await openPage(t, browser, service.console);
  await signIn(page, KEYS.admin);
  await hide(page, true);
  await page.getByText('Paused').waitFor();
  const requests = requestsOf(page);
  await createRdcpClient({ baseUrl: service.url, apiKey: KEYS.admin }).enable('ORDERS', { duration: '5m' });
  // Longer than any interval in which the page asks.
  await sleep(3000);
  assert.deepEqual(
    requests.map((request) => request.url()),
    [],
  );
  await hide(page, false);
  await waitForState(page, 'ORDERS', 'On');
  const reopened = requests.find((request) => request.url().endsWith('/events'));
  assert.match(reopened?.headers()['last-event-id'] ?? '', /\d/, 'it goes on where it was');
  await context.close();
});

async function withRevocableKey(t: TestContext) {
  const file = join(newFolder(t), 'keys.json');
  const write = (keys: readonly ApiKeyRecord[]) => writeFileSync(file, JSON.stringify({ keys }));
  write(KEY_RECORDS);
  const service = await startService(t, { security: { apiKeys: { file } } });
  return { service, revoke: () => write(KEY_RECORDS.filter(({ id }) => id !== 'operator')) };
}

/** Chromium has no way to hide a page of a test. The event is its own. */
async function hide(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    Object.defineProperty(document, 'visibilityState', { value: value ? 'hidden' : 'visible', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}
