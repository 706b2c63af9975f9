import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import express from 'express';
import type { Browser } from 'playwright-core';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { withProgram } from '../examples/required-program.ts';
import { startNginx } from '../proxies/nginx.ts';
import { HOST, KEY, startService as startBehindProxy } from '../proxies/recipe.ts';
import { serve } from '../support/serve.ts';
import { enable, signIn, waitForState } from './drive.ts';
import { browserTest, KEY_RECORDS, KEYS, openPage } from './support.ts';

const CATEGORIES = { DATABASE: { description: 'SQL statements and their durations' }, CACHE: {} };

/** The page works there: it signs in, switches, and hears of what others switch. */
async function assertWorks(t: TestContext, browser: Browser, address: string, key: string, elsewhere: string) {
  const { page } = await openPage(t, browser, address, { ignoreHTTPSErrors: true });
  await signIn(page, key);
  assert.match(await enable(page, 'DATABASE', 'slow checkout'), /DATABASE/);
  await waitForState(page, 'DATABASE', 'On');
  await createRdcpClient({ baseUrl: elsewhere, apiKey: key }).enable('CACHE', { duration: '5m', reason: 'by another' });
  await waitForState(page, 'CACHE', 'On');
  await page.reload();
  await page.locator('#credential').waitFor();
}

browserTest('behind nginx, which ends TLS, the page works and hears of changes at once', async (t, browser) => {
  await withProgram(t, 'nginx', async () => {
    const service = await startBehindProxy(t, 'nginx', [], { categories: CATEGORIES });
    const { port } = await startNginx(t, service);
    const address = `https://${HOST}:${port}/rdcp/console/`;
    await assertWorks(t, browser, address, KEY, `http://127.0.0.1:${service.port}`);
  });
});

browserTest('mounted in Express below a path, the page finds its endpoint', async (t, browser) => {
  const rdcp = createRdcp({
    server: false,
    console: true,
    categories: CATEGORIES,
    security: { apiKeys: KEY_RECORDS },
    announce: false,
  });
  t.after(() => rdcp.close());
  const { url: server } = await serve(t, express().use('/ops/debug', rdcp.callback()));
  const url = `${server}/ops/debug`;
  await assertWorks(t, browser, `${url}/rdcp/console`, KEYS.admin, url);
});
