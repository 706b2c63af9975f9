import { setTimeout as sleep } from 'node:timers/promises';
import { assertAccessible, browserTest, startService } from './support.ts';
import { openView } from './views.ts';

browserTest('health says what fails, why and since when, also where it is answered with 503', async (t, browser) => {
  let down = false;
  const service = await startService(t, {
    health: {
      database: () => {
        if (down) throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
      },
    },
  });
  const { page } = await openView(t, browser, `${service.console}#/health`);
  await page.getByText('Every check passes.').waitFor();
  await assertAccessible(page, 'health');
  down = true;
  await sleep(1100);
  await page.getByRole('button', { name: 'Check now' }).click();
  await page.getByText('Unhealthy').first().waitFor();
  await page.getByText(/it failed.*ECONNREFUSED/).waitFor();
  await page.getByText(/since/).first().waitFor();
  await assertAccessible(page, 'health that is not');
});
