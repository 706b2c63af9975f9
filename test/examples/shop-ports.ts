import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { start } from './child.ts';
import { shopEnvironment } from './running-shop.ts';

/** Starts the shop with these variables, in an empty folder. */
export async function startOn(t: TestContext, ports: NodeJS.ProcessEnv) {
  const register = import.meta.resolve('opentelemetry-instrumentation-rdcp/register');
  const main = join(ROOT, 'examples/shop/main.ts');
  const env = { ...(await shopEnvironment()), ...ports };
  const child = await start(process.execPath, ['--import', register, main], { cwd: newFolder(t), env });
  t.after(() => child.end('SIGKILL'));
  return child;
}
