import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { RdcpConfig } from '../../src/options/options.ts';
import { newStore } from '../support/folder.ts';
import { typeCredential } from './drive.ts';
import { beginIncident, keyOf, openScene } from './scene.ts';
import { KEY_RECORDS, KEYS, openPage, type PageOptions, startService } from './support.ts';

export const ROWS = '.log-lines [role=option]:not(.note)';
export const NOTES = '.log-lines .note';

/** Opens a page and signs in, at whatever view the address names. */
export async function openView(
  t: TestContext,
  browser: Browser,
  address: string,
  options: PageOptions & { key?: string } = {},
) {
  const { key = KEYS.admin, ...rest } = options;
  const opened = await openPage(t, browser, address, rest);
  await typeCredential(opened.page, key);
  await opened.page.locator('main#view').waitFor();
  await opened.page.locator('main .loading').waitFor({ state: 'detached' });
  return opened;
}

interface ConsoleOptions extends PageOptions {
  readonly config?: RdcpConfig;
  readonly key?: string;
  /** Such as `#/tail`. */
  readonly view?: string;
}

/** A service of the test, and its console, signed in. */
export async function openConsole(
  t: TestContext,
  browser: Browser,
  { config, view = '', ...rest }: ConsoleOptions = {},
) {
  const service = await startService(t, config);
  return { ...service, ...(await openView(t, browser, `${service.console}${view}`, rest)) };
}

/** The console of the shop in an incident. */
export async function openIncident(t: TestContext, browser: Browser, options: PageOptions = {}) {
  const scene = await openScene();
  t.after(() => scene.close());
  await beginIncident(scene);
  return { ...scene, ...(await openView(t, browser, scene.console, { ...options, key: keyOf('alice') })) };
}

/** Starts the tail that is filled in. */
export async function startTail(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('#view').getByText('Live', { exact: true }).waitFor();
}

/** Debugs until the test ends. */
export function talk(t: TestContext, every: number, run: (count: number) => void): void {
  let count = 0;
  const timer = setInterval(() => run(count++), every);
  t.after(() => clearInterval(timer));
}

export const lineCount = async (page: Page) =>
  Number((await page.locator('.status').textContent())?.match(/([\d,]+) lines?/)?.[1]?.replaceAll(',', '') ?? 0);

export async function startFleet(t: TestContext, size: number) {
  const config: RdcpConfig = {
    server: { port: 0 },
    store: newStore(t),
    tenancy: { isolation: 'organization', tenants: { acme: { name: 'Acme Ltd' }, beta: {} } },
    announce: false,
    emit: { to: 'stderr' },
    security: { apiKeys: KEY_RECORDS },
  };
  return Promise.all(
    Array.from({ length: size }, async () => {
      const child: ChildProcess = fork(join(import.meta.dirname, 'member.ts'), [JSON.stringify(config)], {
        execArgv: ['--no-warnings'],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      t.after(() => child.kill('SIGKILL'));
      const [{ url }] = (await once(child, 'message')) as [{ url: string }];
      const enabled = async () => {
        child.send('');
        const [answer] = (await once(child, 'message')) as [{ enabled: boolean }];
        return answer.enabled;
      };
      return { url, child, console: `${url}/rdcp/console/`, enabled };
    }),
  );
}
