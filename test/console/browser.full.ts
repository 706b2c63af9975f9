// In a process of its own: it starts a browser, and waits for it.

import assert from 'node:assert/strict';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { assertAccessible, browserTest, KEYS, openPage, startService } from './support.ts';

browserTest('by the policy of the page no text becomes code, nothing comes from elsewhere', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openPage(t, browser, service.console, {
    provoked: [/Content.Security.Policy|TrustedHTML|TrustedScript|Refused to/i],
  });
  await assertAccessible(page, 'the page before anything is done');
  const broken = await page.evaluate(async () => {
    const attempt = async (run: () => unknown) => {
      try {
        await run();
        return 'done';
      } catch (error) {
        return (error as Error).name;
      }
    };
    return {
      isolated: globalThis.crossOriginIsolated,
      html: await attempt(() => {
        document.body.innerHTML = '<b>x</b>';
      }),
      inline: await attempt(() => {
        const script = document.createElement('script');
        script.text = 'globalThis.inline = true';
        document.head.append(script);
      }),
      ran: 'inline' in globalThis,
      elsewhere: await attempt(() => fetch('https://example.com/')),
    };
  });
  assert.deepEqual(broken, {
    isolated: true,
    html: 'TypeError',
    inline: 'TypeError',
    ran: false,
    elsewhere: 'TypeError',
  });
});

browserTest('the code of rdcp console signs in once, and is gone from the address at once', async (t, browser) => {
  const service = await startService(t);
  const client = createRdcpClient({ baseUrl: service.url, apiKey: KEYS.operator });
  const { code } = await client.consoleCode();
  const { page, context } = await openPage(t, browser, `${service.console}#code=${code}`);
  await page.getByRole('grid', { name: 'Categories' }).waitFor();
  assert.equal(new URL(page.url()).hash.includes('code'), false);
  await page.goBack();
  assert.equal(page.url(), 'about:blank');
  const again = await context.newPage();
  await again.goto(`${service.console}#code=${code}`);
  await again.locator('#credential').waitFor();
  await again.getByRole('alert').waitFor();
  assert.equal(new URL(again.url()).hash.includes('code'), false);
});
