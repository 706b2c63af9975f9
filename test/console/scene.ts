import { context, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { Page } from 'playwright-core';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp, type Rdcp } from '../../src/assembly/rdcp.ts';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { PROTOCOL, type Scope } from '../../src/wire/constants.ts';
import { storeWithFleet } from '../support/made-up-fleet.ts';
import { go, signIn, typeCredential } from './drive.ts';

// A shop in an incident, for pictures of the console and for tests of how each of its states looks.

const PEOPLE = { alice: ['admin'], robin: ['discovery', 'status'] } as const satisfies Record<string, readonly Scope[]>;
export const keyOf = (name: string) => `${name}-key-`.padEnd(40, 'k');
const apiKeys: readonly ApiKeyRecord[] = Object.entries(PEOPLE).map(([name, scopes]) => ({
  id: name,
  hash: hashApiKey(keyOf(name)),
  clientId: name,
  userId: name,
  scopes,
}));

const CATEGORIES = {
  CACHE: { description: 'Hits, misses and evictions' },
  DATABASE: { description: 'SQL statements and their durations' },
  HTTP_CLIENT: { description: 'Requests to other services' },
  HTTP_SERVER: { description: 'Requests of customers' },
  MAIL: { description: 'Mails that are sent' },
  ORDERS: { description: 'What becomes of orders' },
  PAYMENTS_CARD: { description: 'Payments by card' },
  PAYMENTS_INVOICE: { description: 'Payments by invoice' },
  PRICES: { description: 'How a price comes about' },
  SEARCH: { description: 'Searches, and what they found' },
  SESSIONS: { description: 'Sessions of customers', enabled: true },
  STOCK: { description: 'Reservations of stock' },
};

/** Runs what belongs to an order inside a span of its own. */
function inTrace(order: number, run: () => void): void {
  const traceId = `4bf92f3577b34da6a3ce929d0e0e${order.toString(16).padStart(4, '0')}`;
  const spanContext = { traceId, spanId: `00f067aa0ba9${traceId.slice(-4)}`, traceFlags: TraceFlags.SAMPLED };
  context.with(trace.setSpanContext(ROOT_CONTEXT, spanContext), run);
}

export interface Scene {
  readonly rdcp: Rdcp;
  /** Address of the console. */
  readonly console: string;
  /** The debug calls of a moment. */
  speak(): void;
  close(): Promise<void>;
}

/**
 * @param now wall time, in milliseconds since the epoch
 * @param work lets time pass between the lines of an order
 */
export async function openScene(
  config: RdcpConfig = {},
  now = Date.now,
  work = (_order: number) => {},
): Promise<Scene> {
  const startedAt = now() - 3 * 3_600_000;
  const fleet = Array.from({ length: 8 }, (_, index) => ({
    host: `shop-${(index >> 1) + 1}`,
    pid: 4200 + index,
    service: 'shop',
    version: index < 6 ? '2.4.1' : '2.5.0',
    startedAt: startedAt + index * 60_000,
    behind: index === 5,
  }));
  const rdcp = createRdcp({
    categories: CATEGORIES,
    tenancy: { isolation: 'organization', tenants: { acme: { name: 'Acme' }, globex: { name: 'Globex' } } },
    store: storeWithFleet(fleet, undefined, false),
    console: { traceUrl: 'https://traces.example.com/{traceId}' },
    fleet: { acknowledgeTimeoutSeconds: 0 },
    emit: { to: () => undefined },
    announce: false,
    ...config,
    server: { port: 0 },
    security: { apiKeys },
    limits: { readPerMinute: 100_000, anonymousPerMinute: 100_000, controlPerMinute: 100_000 },
  });
  const { url } = await rdcp.listen();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const category = (name: keyof typeof CATEGORIES) => rdcp.category(name);
  let order = 7310;
  return {
    rdcp,
    console: `${url}/rdcp/console/`,
    speak: () => {
      for (let call = 0; call < 6; call += 1) {
        order += 1;
        inTrace(order, () => {
          category('DATABASE').debug('query done', { table: 'orders', rows: order % 17 });
          if (call >= 2) return;
          rdcp.runWithTenant('acme', () => {
            category('ORDERS').debug('asked for', { order, 'user.id': `${40 + call}` });
            work(order);
            category('PAYMENTS_CARD').debug(call === 0 ? 'authorized' : 'over the limit', {
              order,
              cents: 3462 + call,
            });
            work(order + 3);
            category('ORDERS').debug(call === 0 ? 'accepted' : 'refused', { order });
          });
        });
      }
      category('SESSIONS').debug('renewed', { order });
    },
    close: () => rdcp.close(),
  };
}

/** What has happened before anybody looks. */
export async function beginIncident(scene: Scene, wait: () => unknown = () => undefined): Promise<void> {
  const baseUrl = scene.console.replace('/rdcp/console/', '');
  const options = { baseUrl, apiKey: keyOf('alice') };
  const [everybody, acme] = [createRdcpClient(options), createRdcpClient({ ...options, tenantId: 'acme' })];
  await everybody.enable('STOCK', { reason: 'counting differs since the move' });
  await wait();
  await everybody.enable(['HTTP_CLIENT', 'CACHE'], { duration: '15m', reason: 'timeouts of the warehouse' });
  await wait();
  await everybody.reset('CACHE', { reason: 'not the cache' });
  await wait();
  await acme.enable('PAYMENTS_CARD', { duration: '1h', reason: 'ticket 4711' });
  await wait();
  await everybody.enable('DATABASE', {
    duration: '15m',
    reason: 'slow checkout',
    otelrdcp_budget: { callsPerSecond: 100, calls: 20_000 },
  });
  await wait();
}

export interface State {
  /** Also the name of its picture. */
  readonly name: string;
  readonly config?: RdcpConfig;
  /** Nothing was switched before. */
  readonly quiet?: boolean;
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Brings the page there. */
  readonly reach: (page: Page, scene: Scene) => Promise<unknown>;
}

const asAlice = (page: Page) => signIn(page, keyOf('alice'));

async function toView(page: Page, hash: string, shows: string): Promise<void> {
  await asAlice(page);
  await go(page, hash);
  await page.locator('main').getByText(shows).first().waitFor();
}

/** Starts a tail, and waits for a line that says this. */
async function toTail(page: Page, scene: Scene, categories: string, line: string): Promise<void> {
  await toView(page, `#/tail?categories=${categories}`, categories.split(',')[0] ?? '');
  await page.getByRole('button', { name: /^(Start|Tail)/ }).click();
  for (let round = 0; round < 20 && (await page.getByText(line).count()) === 0; round += 1) {
    scene.speak();
    await page.waitForTimeout(250);
  }
}

/** Lets the server answer a path so from now on. */
export async function answerWith(page: Page, path: string, status: number, code: string, headers = {}): Promise<void> {
  const error = { code, message: 'refused for the picture', protocol: PROTOCOL };
  const body = JSON.stringify({ protocol: PROTOCOL, error });
  await page.route(path, (route) => route.fulfill({ status, headers, contentType: 'application/json', body }));
}

export const STATES: readonly State[] = [
  // First, because a process keeps the categories that it has had.
  {
    name: 'no-categories',
    config: { categories: {} },
    quiet: true,
    reach: async (page) => {
      await typeCredential(page, keyOf('alice'));
      await page.getByText('no categories yet').waitFor();
    },
  },
  { name: 'sign-in', quiet: true, reach: (page) => page.locator('#credential').waitFor() },
  {
    name: 'sign-in-refused',
    quiet: true,
    reach: async (page) => {
      await typeCredential(page, 'wrong-key'.padEnd(40, 'x'));
      await page.getByRole('alert').waitFor();
    },
  },
  { name: 'categories', reach: asAlice },
  { name: 'categories-phone', viewport: { width: 320, height: 640 }, reach: asAlice },
  {
    name: 'nothing-found',
    reach: async (page) => {
      await asAlice(page);
      await page.getByRole('searchbox').fill('no such thing');
      await page.getByText('Nothing matches').waitFor();
    },
  },
  { name: 'category', reach: (page) => toView(page, '#/categories/DATABASE', 'slow checkout') },
  {
    name: 'enable',
    reach: async (page) => {
      await asAlice(page);
      await page.getByRole('button', { name: 'Enable ORDERS' }).click();
      await page.getByRole('dialog').getByLabel('Reason').fill('orders stay open');
    },
  },
  { name: 'tail', reach: (page, scene) => toTail(page, scene, 'DATABASE,PAYMENTS_CARD', 'query done') },
  {
    name: 'refused-order',
    reach: async (page, scene) => {
      await toTail(page, scene, 'ORDERS,PAYMENTS_CARD', 'refused');
      await page.locator('.log-row').getByText('refused').last().click();
      await page.getByRole('button', { name: 'Only this trace' }).click();
      await page.locator('.log-row').getByText('authorized').first().waitFor({ state: 'detached' });
    },
  },
  { name: 'audit', reach: (page) => toView(page, '#/audit', 'ticket 4711') },
  { name: 'fleet', reach: (page) => toView(page, '#/fleet', 'behind by 1') },
  { name: 'health', reach: (page) => toView(page, '#/health', 'store') },
  {
    name: 'health-unhealthy',
    config: {
      health: {
        warehouse: () => {
          throw new Error('no answer');
        },
      },
    },
    reach: (page) => toView(page, '#/health', 'warehouse'),
  },
  { name: 'tenants', reach: (page) => toView(page, '#/tenants', 'Acme') },
  {
    name: 'one-tenant',
    reach: async (page) => {
      await asAlice(page);
      await page.getByLabel('Tenant', { exact: true }).selectOption('acme');
      await page.getByText('You see and change').waitFor();
    },
  },
  {
    name: 'reader',
    reach: async (page) => {
      await signIn(page, keyOf('robin'));
    },
  },
  ...(
    [
      ['forbidden', 403, 'RDCP_FORBIDDEN', {}],
      ['too-many-requests', 429, 'RDCP_RATE_LIMITED', { 'Retry-After': '30' }],
      ['unavailable', 503, 'RDCP_UNAVAILABLE', { 'Retry-After': '5' }],
    ] as const
  ).map(([name, status, code, headers]) => ({
    name,
    reach: async (page: Page) => {
      await answerWith(page, '**/rdcp/v1/audit*', status, code, headers);
      await asAlice(page);
      await go(page, '#/audit');
      await page.getByRole('alert').waitFor();
    },
  })),
  {
    name: 'session-ended',
    reach: async (page) => {
      await asAlice(page);
      await answerWith(page, '**/rdcp/v1/*', 401, 'RDCP_AUTH_FAILED');
      await go(page, '#/audit');
      await page.locator('dialog #credential').waitFor();
    },
  },
  {
    name: 'no-connection',
    reach: async (page, scene) => {
      await asAlice(page);
      await scene.close();
      await page.locator('.banner.error').waitFor();
    },
  },
];
