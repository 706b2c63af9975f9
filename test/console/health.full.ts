import { until } from '../support/until.ts';
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
  await until('the page says that it is unhealthy', async () => {
    await page.getByRole('button', { name: 'Check now' }).click();
    return (await page.getByText('Unhealthy').count()) > 0;
  });
  await page.getByText(/it failed.*ECONNREFUSED/).waitFor();
  await page.getByText(/since/).first().waitFor();
  await assertAccessible(page, 'health that is not');
});

browserTest('a view that fails becomes a notice, and the rest of the page goes on', async (t, browser) => {
  const service = await startService(t);
  const { page } = await openView(t, browser, `${service.console}#/categories`, { provoked: [/TypeError/] });
  await page.route('**/rdcp/v1/health', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), checks: 1 } });
  });
  await page.getByRole('link', { name: 'Health' }).click();
  const view = page.locator('main#view');
  await view.getByRole('alert').getByText('This part of the page failed').waitFor();
  await assertAccessible(page, 'a view that failed');
  await page.getByRole('link', { name: 'Categories' }).click();
  await view.getByRole('grid', { name: 'Categories' }).waitFor();
  await view.getByRole('alert').waitFor({ state: 'detached' });
});
