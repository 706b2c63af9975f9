import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { ROOT } from '../support/built.ts';
import { start } from './child.ts';
import { shopEnvironment } from './running-shop.ts';

/** Starts the shop with these variables, in an empty folder. */
export async function startOn(t: TestContext, ports: NodeJS.ProcessEnv) {
  const cwd = mkdtempSync(join(tmpdir(), 'rdcp-shop-'));
  const register = import.meta.resolve('opentelemetry-instrumentation-rdcp/register');
  const main = join(ROOT, 'examples/shop/main.ts');
  const env = { ...(await shopEnvironment()), ...ports };
  const child = await start(process.execPath, ['--import', register, main], { cwd, env });
  t.after(async () => {
    await child.end('SIGKILL');
    rmSync(cwd, { recursive: true });
  });
  return child;
}
