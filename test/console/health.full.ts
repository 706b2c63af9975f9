import { until } from '../support/until.ts';
import { assertAccessible, browserTest } from './support.ts';
import { openConsole } from './views.ts';

browserTest('health says what fails, why and since when, also where it is answered with 503', async (t, browser) => {
  let down = false;
  const { page } = await openConsole(t, browser, {
    config: {
      health: {
        database: () => {
          if (down) throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
        },
      },
    },
    view: '#/health',
  });
  await page.getByText('Every check passes.').waitFor();
  await assertAccessible(page, 'health');
  down = true;
  await until('the page says that it is unhealthy', async () => {
    await page.getByRole('button', { name: 'Check now' }).click();
    return (await page.getByText('Unhealthy').count()) > 0;
  });
  await page
    .getByText(/it failed.*ECONNREFUSED/)
    .first()
    .waitFor();
  await page.locator('.banner.error', { hasText: 'database' }).waitFor();
  await page.getByText(/since/).first().waitFor();
});

browserTest('a view that fails becomes a notice, and the rest of the page goes on', async (t, browser) => {
  const { page } = await openConsole(t, browser, { view: '#/categories', provoked: [/TypeError/] });
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
