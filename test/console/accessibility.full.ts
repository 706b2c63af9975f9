import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { category, runWork } from '../../src/api.ts';
import { go, signIn } from './drive.ts';
import { answerWith, beginIncident, keyOf, openScene, type Scene, STATES } from './scene.ts';
import { accessibilityFindings, assertAccessible, browserTest, openPage } from './support.ts';
import { ROWS } from './views.ts';

// Every browser test ends with axe on the pages that it opened.
for (const { name, config, quiet, viewport, reach } of STATES) {
  browserTest(`axe finds nothing wrong with the state ${name}, in light and dark`, async (t, browser) => {
    const scene = await openScene(config);
    t.after(() => scene.close());
    if (!quiet) await beginIncident(scene);
    const { page } = await openPage(t, browser, scene.console, {
      viewport: viewport ?? { width: 1280, height: 800 },
      provoked: name === 'no-connection' ? [/ERR_/] : [],
    });
    await reach(page, scene);
  });
}

const WIDTHS = [1440, 1024, 768, 390];
const TAIL = '#/tail?categories=ORDERS,CACHE';

type Reach = (page: Page, scene: Scene) => Promise<unknown>;

const press = (name: string | RegExp, nth = 0) => {
  return (page: Page) => page.getByRole('button', { name }).nth(nth).click();
};
const open = (summary: string) => (page: Page) => page.locator('summary', { hasText: summary }).last().click();
const steps =
  (...each: readonly Reach[]): Reach =>
  async (page, scene) => {
    for (const step of each) await step(page, scene);
  };
const view =
  (hash: string, shows: string): Reach =>
  async (page) => {
    await go(page, hash);
    await page.locator('main').getByText(shows).first().waitFor();
  };
/** A tail that has some lines, the same one in each state. */
const tail: Reach = async (page, scene) => {
  await view(TAIL, 'ORDERS')(page, scene);
  const stop = page.locator('#view').getByRole('button', { name: 'Stop' });
  if ((await stop.count()) === 0) await press('Start')(page);
  await stop.waitFor();
  await page.locator('#view').getByText('Live', { exact: true }).waitFor();
  scene.speak();
  await page.locator(ROWS, { hasText: 'asked for' }).first().waitFor();
};
const fail: Reach = async () =>
  runWork('order', () => {
    category('ORDERS').debug('asked for');
    category('ORDERS').fail(new RangeError('no basket'));
  });
const refused = (hash: string, path: string): Reach =>
  steps(
    (page) => answerWith(page, path, 503, 'RDCP_UNAVAILABLE', { 'Retry-After': '5' }),
    (page) => go(page, hash),
    (page) => page.getByRole('alert').first().waitFor(),
    (page) => page.unroute(path),
  );

/** What is open or shown, one after the other on one page, and how it is reached from the list of categories. */
const SHOWN: Readonly<Record<string, Reach>> = {
  'selected categories': steps(
    (page) => page.getByLabel('Select ORDERS').check(),
    (page) => page.getByLabel('Select MAIL').check(),
  ),
  'a question for several categories': steps(press('Enable…'), (page) => page.getByRole('dialog').waitFor()),
  'a measurement of several categories': press('Measure…'),
  'nothing selected, all measured': steps(press('Clear'), press('Measure all'), (page) =>
    page
      .getByText(/\d s ago/)
      .first()
      .waitFor(),
  ),
  'enable for one user': steps(press('Enable ORDERS'), press('One user or request')),
  'enable with limits, for some lines': steps(
    press('Enable ORDERS'),
    open('Limit its output'),
    open('Only some work or lines'),
  ),
  'enable for good, asked again': steps(
    press('Enable ORDERS'),
    (page) => page.getByRole('dialog').getByText('Permanent', { exact: true }).click(),
    press(/permanently …/),
  ),
  'record failures': steps(press('Enable ORDERS'), press('Only failures')),
  'a forecast': steps(press('Enable ORDERS'), press(/Forecast/), (page) =>
    page.getByRole('button', { name: 'Measure again' }).waitFor(),
  ),
  extend: press('Extend DATABASE'),
  'end now': press('End now DATABASE'),
  'turn off for good': press('Turn off for good STOCK'),
  toggle: steps(view('#/categories/DATABASE', 'Toggle'), press('Toggle…')),
  'another tenant': (page) => page.getByLabel('Tenant', { exact: true }).selectOption('Another tenant …'),
  'the account': (page) => page.locator('header .menu summary').click(),
  'the palette': async (page) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type('data');
  },
  'the keys': press('Keyboard shortcuts'),
  'no such category': view('#/categories/NONE', 'There is no such category'),
  failures: steps(fail, view('#/failures', '1 failure')),
  'no failures of a user': view('#/failures?match=user.id%3D1', 'No work has failed'),
  'failures that are refused': refused('#/failures', '**/rdcp/v1/failures'),
  'a fleet that is refused': refused('#/fleet', '**/rdcp/v1/fleet'),
  'no process found': view('#/fleet?q=nothing', 'No process matches'),
  'health that is refused': refused('#/health', '**/rdcp/v1/health'),
  'tenants found': view('#/tenants?q=acme', 'Acme'),
  'an audit entry': steps(view('#/audit', 'ticket 4711'), press('enable'), (page) =>
    page.getByRole('dialog').waitFor(),
  ),
  'the chain': steps(view('#/audit', 'ticket 4711'), open('checked')),
  'no audit entry found': view('#/audit?text=nothing-like-it', 'No entry'),
  'a tail to start, for some work': steps(view(TAIL, 'Ready to start'), open('Only some work or lines')),
  'a tail to save': steps(view(TAIL, 'Ready to start'), press('Save …')),
  'a tail that is refused': steps(view('#/tail?categories=NONE', 'Ready to start'), press('Start'), (page) =>
    page.getByRole('alert').waitFor(),
  ),
  'a tail that is live': tail,
  'a tail, its fields': steps(tail, press('Fields')),
  'a tail, its menu': steps(tail, open('View')),
  'a tail, paused': steps(tail, press('Pause')),
  'a tail, a chosen line': steps(tail, (page) => page.locator(ROWS, { hasText: 'asked for' }).last().click()),
  'a tail, folded and by trace': steps(
    view(`${TAIL}&fold=true&trace=true&columns=user.id&filter=order`, 'ORDERS'),
    (page) => page.locator('.log-row.group').first().waitFor(),
  ),
  'a tail that was stopped': steps(press('Stop'), (page) => page.getByText('Ended', { exact: true }).waitFor()),
  'a tail below another view': view('#/categories', 'ORDERS'),
};

browserTest(
  `axe finds nothing in ${Object.keys(SHOWN).length} states at a desk and on a phone, and none is too wide`,
  async (t, browser) => {
    const scene = await openScene({ recorder: { categories: ['*'] } });
    t.after(() => scene.close());
    await beginIncident(scene);
    const { page } = await openPage(t, browser, scene.console, { provoked: [/ 404 .*categories=NONE/] });
    await signIn(page, keyOf('alice'));
    for (const [name, reach] of Object.entries(SHOWN)) {
      await page.setViewportSize({ width: 1440, height: 900 });
      if (!/^a question|^a measurement|^nothing selected|stopped$/.test(name)) await go(page, '#/categories');
      await reach(page, scene);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${name} is ${wide} pixels too wide at ${width}`);
        if (width === 1440) await assertAccessible(page, name);
        if (width === 390) assert.deepEqual(await accessibilityFindings(page), [], `${name}, on a phone`);
      }
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
  },
);
