import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import type { DiscoveryResponse, StatusResponse } from '../../src/wire/messages.ts';
import { takenPort } from '../register/running.ts';
import { ROOT } from '../support/built.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { start } from './child.ts';
import { withProgram } from './required-program.ts';
import { type RunningShop, startShop, startShopOn } from './running-shop.ts';

const CATEGORIES = ['AUTH', 'CACHE', 'DATABASE', 'HTTP_CLIENT', 'ORDERS', 'PRICES', 'QUEUE', 'X-DISCOUNTS'];

describe('the example on ports that are taken', () => {
  inFull('the shop itself: it ends with one line that names SHOP_PORT', async (t) => {
    const port = String(await takenPort(t, 'localhost'));
    const child = await startShopOn(t, { SHOP_PORT: port });
    assert.equal(await child.ended, 1);
    assert.match(child.output.stderr, new RegExp(`^shop: port ${port} is in use: choose another by SHOP_PORT$`, 'm'));
    assert.doesNotMatch(child.output.stderr, /\n {4}at /);
    assert.equal(child.output.stdout, '');
  });
});

describe('the running example', () => {
  let shop: RunningShop;
  before(async () => {
    shop = await startShop();
  });
  after(() => shop.end());

  test('prints at the start what to try, with the real addresses and key file, and never the key', async () => {
    const { stdout } = shop.child.output;
    assert.ok(stdout.includes(`${shop.control}/rdcp/v1/discovery`));
    assert.ok(stdout.includes(`${shop.control}/rdcp/v1/control`));
    assert.ok(stdout.includes(shop.metrics));
    assert.match(stdout, /\$\(cat \S*\.rdcp\/dev-key\)/);
    assert.doesNotMatch(stdout + shop.child.output.stderr, /rdcp_dev_v\d/);
  });

  test('lists its categories, each described and off', async () => {
    const { categories } = await shop.get<DiscoveryResponse>('/rdcp/v1/discovery');
    const names = categories.map((category) => category.name);
    assert.deepEqual(
      names.filter((name) => CATEGORIES.includes(name)),
      CATEGORIES,
    );
    assert.ok(names.includes('KOA_ROUTER'), 'those of libraries that write debug lines');
    for (const category of categories) {
      assert.equal(category.enabled, false);
      assert.ok(category.description.length > 20, category.name);
    }
  });

  test('a category switched on for a while says what it does, and is off again by itself', async () => {
    const seen = shop.child.output.stderr.length;
    const switchOn = (duration: string) =>
      shop.post({ action: 'enable', categories: 'DATABASE', options: { duration, reason: 'orders are slow' } });
    await switchOn('5m');
    const line = await until('a line of DATABASE with trace ids', () =>
      shop.child.output.stderr
        .slice(seen)
        .split('\n')
        .find((text) => /DATABASE query .*trace_id=[0-9a-f]{32} span_id=[0-9a-f]{16}/.test(text)),
    );
    assert.match(line, /db\.query\.text/);
    assert.ok((await shop.category('DATABASE')).metrics.callsPerSecond > 0);
    await switchOn('1s');
    await until('DATABASE to be off', async () => !(await shop.category('DATABASE')).enabled);
    const { entries } = await shop.get<AuditResponse>('/rdcp/v1/audit?category=DATABASE');
    assert.deepEqual(
      entries.map(({ action, identity }) => [action, identity.clientId]),
      [
        ['expire', undefined],
        ['enable', 'dev'],
        ['enable', 'dev'],
      ],
    );
  });

  test('every command that it prints at the start works as it stands', async (t) => {
    const commands = shop.child.output.stdout.split('\n').filter((line) => line.startsWith('  '));
    assert.equal(commands.length, 10);
    const own = `${process.execPath} ${join(ROOT, 'dist/cli/main.js')}`;
    await withProgram(t, 'curl', async () => {
      for (const command of commands) {
        // npx finds the command of the package in whose directory it runs, which is not where this shop runs.
        const child = await start('sh', ['-c', command.replace('npx rdcp', own)], { cwd: shop.cwd });
        assert.equal(await child.ended, 0, `${command}: ${child.output.stderr}`);
        // With fewer lines of that customer in the last minute, a tail waits for more and says where live ones begin.
        assert.match(
          child.output.stdout.replace(/^\S+ now: .*\n/m, ''),
          command.includes('curl')
            ? /^\{"protocol":"rdcp\/1\.0","timestamp"/
            : command.includes(' tail ')
              ? /^(?:\S+ ORDERS .*\n){3}$/
              : /^[A-Z]/,
        );
      }
    });
    const { enabled, categories } = await shop.get<StatusResponse>('/rdcp/v1/status');
    assert.equal(enabled, true);
    assert.ok(Object.values(categories).every((on) => !on));
  });

  test('SIGTERM ends it with exit code 0', async () => {
    assert.equal(await shop.child.end(), 0, shop.child.output.stderr);
  });
});
