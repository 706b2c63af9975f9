import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ControlResponse, DiscoveredCategory, DiscoveryResponse } from '../../src/wire/messages.ts';
import { ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { start } from './child.ts';
import { type Guided, startGuided } from './guided.ts';

export const REGISTER = ['--import', import.meta.resolve('opentelemetry-instrumentation-rdcp/register')];

/** The example as its owner runs it, in a directory of its own and on ports that were free. */
export interface RunningShop extends Guided {
  readonly control: string;
  readonly metrics: string;
  get<T>(path: string): Promise<T>;
  post(body: object, headers?: Readonly<Record<string, string>>): Promise<ControlResponse>;
  category(name: string): Promise<DiscoveredCategory>;
  /** The text of a scrape. */
  scrape(): Promise<string>;
}

/** The environment of the example, with ports of its own. */
export async function shopEnvironment(): Promise<NodeJS.ProcessEnv & { RDCP_PORT: string; METRICS_PORT: string }> {
  const [rdcp, metrics] = [await freePort(), await freePort()];
  return {
    ...PROGRAM_ENV,
    SHOP_PORT: '0',
    SHOP_RATE: '10',
    RDCP_RECORD: '*',
    RDCP_PORT: String(rdcp),
    METRICS_PORT: String(metrics),
    OTEL_EXPORTER_PROMETHEUS_PORT: String(metrics),
  };
}

/** @param more variables of its environment */
export async function startShop(more: Readonly<Record<string, string>> = {}): Promise<RunningShop> {
  const env = { ...(await shopEnvironment()), ...more };
  const { child, cwd, end } = await startGuided('examples/shop/main.ts', { env, node: REGISTER });
  const control = `http://127.0.0.1:${env.RDCP_PORT}`;
  const metrics = `http://localhost:${env.METRICS_PORT}/metrics`;
  const key = readFileSync(join(cwd, '.rdcp/dev-key'), 'utf8').trim();
  async function request<T>(path: string, init: RequestInit): Promise<T> {
    const response = await fetch(`${control}${path}`, {
      ...init,
      headers: {
        'X-RDCP-API-Key': key,
        'X-RDCP-Client-ID': 'night-shift',
        'Content-Type': 'application/json',
        ...init.headers,
      },
    });
    const body = await response.text();
    assert.equal(response.status, 200, `${path}: ${body}`);
    return JSON.parse(body) as T;
  }

  return {
    child,
    cwd,
    control,
    metrics,
    end,
    get: (path) => request(path, {}),
    post: (body, headers = {}) => request('/rdcp/v1/control', { method: 'POST', body: JSON.stringify(body), headers }),
    async category(name) {
      const { categories } = await request<DiscoveryResponse>('/rdcp/v1/discovery', {});
      const found = categories.find((category) => category.name === name);
      assert.ok(found, `${name} is not in ${categories.map((category) => category.name)}`);
      return found;
    },
    scrape: async () => (await fetch(metrics)).text(),
  };
}

/** Starts the shop with these variables, in an empty folder, and waits for nothing. */
export async function startShopOn(t: TestContext, ports: NodeJS.ProcessEnv) {
  const env = { ...(await shopEnvironment()), ...ports };
  const main = join(ROOT, 'examples/shop/main.ts');
  const child = await start(process.execPath, [...REGISTER, main], { cwd: newFolder(t), env });
  t.after(() => child.end('SIGKILL'));
  return child;
}
