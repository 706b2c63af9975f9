import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Target } from '../../src/tools/cli/terminal.ts';
import { KEYS } from '../support/server.ts';
import { commandWith, startServices } from './many-services.ts';

const at = (port: number) => ({ url: `http://127.0.0.1:${port}`, apiKey: KEYS.admin });
const FOUR = { shop: at(1), cart: at(7), pay: at(9), stock: at(11) };

const namesOf = (stdout: string): string[] =>
  JSON.parse(stdout).services.map(({ service }: { service: string }) => service);

describe('which services a command asks', () => {
  test('groups hold services and other groups, and a service in two of them is asked once', async (t) => {
    const { run } = commandWith(t, FOUR, { groups: { checkout: ['shop', '@payments'], payments: ['pay', 'cart'] } });
    const named = async (...args: string[]) => namesOf((await run(['status', '-o', 'json', ...args])).stdout);
    assert.deepEqual(await named('-s', '@checkout'), ['shop', 'pay', 'cart']);
    assert.deepEqual(await named('-s', '@payments,@checkout,stock, cart'), ['pay', 'cart', 'shop', 'stock']);
    assert.deepEqual(await named('--all-services'), ['shop', 'cart', 'pay', 'stock']);
  });

  test('rdcp profiles shows the groups, and login and logout keep them', async (t) => {
    const { servers, profiles } = await startServices(t, ['shop']);
    const { run, config } = commandWith(t, { ...profiles, old: at(1) }, { groups: { all: ['shop', '@all2'] } });
    assert.equal((await run(['logout', '--profile', 'old'])).code, 0);
    const login = ['login', '--profile', 'two', '--url', servers.shop.url];
    assert.equal((await run(login, { piped: KEYS.admin })).code, 0);
    const { profiles: kept, groups } = JSON.parse(readFileSync(join(config, 'rdcp', 'profiles.json'), 'utf8'));
    assert.deepEqual([Object.keys(kept), groups], [['shop', 'two'], { all: ['shop', '@all2'] }]);
    const { stdout } = await run(['profiles']);
    assert.match(stdout, /\n\nGROUP +SERVICES\n@all +shop, @all2\n$/);
    assert.deepEqual(JSON.parse((await run(['profiles', '-o', 'json'])).stdout).groups, groups);
  });

  for (const [what, groups, args, said] of [
    ['a group in a circle', { a: ['shop', '@b'], b: ['@a'] }, '@a', 'groups in a circle: @a > @b > @a'],
    ['a group that holds itself', { a: ['@a'] }, '@a', 'groups in a circle: @a > @a'],
    ['no such group', { a: ['shop'] }, '@b', "there is no group '@b' (there are @a): the file of profiles has them"],
    ['no such service', {}, 'shpo', "there is no service 'shpo' (there are cart, pay, shop, stock): 'rdcp login'"],
    ['no such service in a group', { a: ['shop', 'cat'] }, '@a', "there is no service 'cat'"],
    ['an empty name', {}, 'shop,', "--service must be names such as shop,cart or @checkout, not ''"],
    ['an empty group', { a: [] }, '@a', "group 'a' is malformed: a group is a list such as"],
    ['a group of numbers', { a: [1] }, 'shop', "group 'a' is malformed"],
    ['groups that are a list', [['shop']], 'shop', "'groups' is malformed"],
    ['groups that are a text', 'shop', 'shop', "'groups' is malformed"],
    ['no groups at all', null, 'shop', "'groups' is malformed"],
  ] as const) {
    test(`${what} is refused`, async (t) => {
      const { says } = commandWith(t, FOUR, { groups: groups as object });
      const { stderr } = await says(`list -s ${args}`, '', { code: 2 });
      assert.ok(stderr.includes(said), stderr);
    });
  }

  test('a file of profiles with a service twice is refused', async (t) => {
    const { says, write } = commandWith(t, {});
    const [shop, cart, other] = [
      '"shop": {"url": "http://a"}',
      '"cart": {"url": "http://b"}',
      '"shop": {"url": "http://c"}',
    ];
    write('profiles.json', `{"profiles": {${shop}, ${cart}, ${other}}}`);
    await says('list -s cart', '', { code: 2, err: /profiles\.json has 'shop' twice: keep one of them\n$/ });
  });

  test('one service with two names is refused, unless a tenant separates them', async (t) => {
    const { says } = commandWith(t, { ...FOUR, again: at(1), acme: { ...at(1), tenant: 'acme' } });
    await says('list -s shop,again', '', { code: 2, err: 'rdcp: shop and again are one service: name one of them\n' });
    await says('list -s shop,acme', '', { code: 4 });
    await says('list -s shop,acme --tenant acme', '', { code: 2 });
  });

  test('a profile that is not right is named, and the others go on', async (t) => {
    const { profiles } = await startServices(t, ['shop']);
    const { says } = commandWith(t, { ...profiles, cart: { ...at(1), caFile: '/no/such.pem' } });
    const err = /^rdcp: cart: --ca: \/no\/such\.pem does not exist$/m;
    await says('status --all-services', /^shop +DATABASE/m, { code: 3, err });
    await says('status -s cart,cart', '', { code: 2, err: 'rdcp: --ca: /no/such.pem does not exist\n' });
  });
});

describe('services.json, which a platform writes', () => {
  test('its services are asked with the key of the environment, or of a profile of the same address', async (t) => {
    const { servers, profiles } = await startServices(t, ['shop', 'cart']);
    const listed = { shop: { url: servers.shop.url }, basket: { url: servers.cart.url, tenant: 'acme' } };
    const { says } = commandWith(t, { cart: profiles.cart }, { listed });
    // This service has no tenants.
    await says('status -s basket', '', { code: 1, err: /--tenant is not allowed/ });
    await says('status -s shop,cart', undefined, { code: 3, err: /^rdcp: shop: RDCP_AUTH_REQUIRED/ });
    await says('status -s shop,cart', undefined, { env: { RDCP_API_KEY: KEYS.admin } });
  });

  test('another file can be named, and a profile wins over nothing: one name with two addresses is refused', async (t) => {
    const { says, config } = commandWith(t, FOUR, { listed: { shop: { url: 'http://127.0.0.1:13' } } });
    const two = /^rdcp: two services are named shop, with different addresses: rename the profile/;
    await says('list -s shop', '', { code: 2, err: two });
    await says('list -s cart', '', { code: 4 });
    const file = join(config, 'others.json');
    writeFileSync(file, JSON.stringify({ services: { one: { url: 'http://127.0.0.1:1' } } }), { mode: 0o644 });
    const env = { RDCP_SERVICES_FILE: file };
    for (const name of ['one', 'shop']) await says(`list -s ${name}`, '', { env, code: 4 });
    chmodSync(file, 0o666);
    const writable = /others\.json can be written by other users: run chown and chmod 644/;
    await says('list -s one', '', { env, code: 2, err: writable });
    const gone = { RDCP_SERVICES_FILE: `${file}.no` };
    await says('list -s one', '', { env: gone, code: 2, err: /others\.json\.no does not exist/ });
  });

  for (const [what, content, said] of [
    ['no JSON', '{', 'is not JSON'],
    ['a service twice', '{"services":{"a":{"url":"http://a"},"a":{"url":"http://b"}}}', "has 'a' twice"],
    ['no services', '{"services":[]}', 'has no services'],
    ['a name that is none', '{"services":{"@a":{"url":"http://a"}}}', "'@a' is no name"],
    ['no address', '{"services":{"a":{}}}', "'url' of service 'a' is malformed"],
    ['a credential', '{"services":{"a":{"url":"http://a","apiKey":"x"}}}', "'apiKey' of service 'a' is malformed"],
    ['a tenant that is none', '{"services":{"a":{"url":"http://a","tenant":"a b"}}}', "'tenant' of service 'a'"],
  ] as const) {
    test(`${what} is refused`, async (t) => {
      const { says, write } = commandWith(t, FOUR);
      write('services.json', content);
      const { stderr } = await says('list --all-services', '', { code: 2, err: /services\.json/ });
      assert.ok(stderr.includes(said), stderr);
    });
  }
});

describe('services by the SRV records of DNS', () => {
  const SRV = '_rdcp._tcp.example.com';
  const answering = (...targets: Target[]) => ({ resolveSrv: async () => targets });

  test('each target is a service, on loopback without TLS', async (t) => {
    const { servers } = await startServices(t, ['shop', 'cart']);
    const portOf = ({ url }: { url: string }) => Number(new URL(url).port);
    const { run } = commandWith(t, {}, { groups: { all: [SRV] } });
    const records = answering(
      { name: 'localhost', port: portOf(servers.shop) },
      { name: 'localhost.', port: portOf(servers.cart) },
    );
    for (const words of [SRV, '@all']) {
      const args = ['status', '-s', words, '-o', 'json'];
      const { code, stdout, stderr } = await run(args, { ...records, env: { RDCP_API_KEY: KEYS.admin } });
      assert.equal(code, 0, stderr);
      assert.deepEqual(
        namesOf(stdout),
        Object.values(servers).map((server) => `localhost:${portOf(server)}`),
      );
    }
  });

  test('targets are called by the first part of their names where that is enough', async (t) => {
    const { run } = commandWith(t, FOUR);
    const asked = async (srv: string) => {
      const records = answering({ name: 'pod-0.shop.invalid', port: 9465 }, { name: 'pod-1.shop.invalid', port: 9465 });
      return run(['status', '-s', srv], records);
    };
    const { stderr } = await asked(SRV);
    assert.match(stderr, /^rdcp: pod-0: .*https:\/\/pod-0\.shop\.invalid:9465/m);
    assert.match((await asked('_http._tcp.shop.invalid')).stderr, /^rdcp: pod-1: .*http:\/\/pod-1\.shop\.invalid/m);
  });

  test('a name without records is named, and the others go on', async (t) => {
    const { profiles } = await startServices(t, ['shop']);
    const { says } = commandWith(t, profiles);
    const resolveSrv = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const err = /_rdcp\._tcp\.example\.com: RDCP_UNAVAILABLE: DNS has no SRV records of .* \(ENOTFOUND\)/;
    await says(`status -s shop,${SRV}`, /^shop/m, { resolveSrv, code: 3, err });
    await says(`status -s ${SRV}`, '', { resolveSrv, code: 4 });
    for (const name of ['', '.', 'a b', 'evil.com/x', 'user@evil.com']) {
      const odd = { ...answering({ name, port: 1 }), code: 4, err: /^rdcp: RDCP_UNAVAILABLE: DNS names no host for/ };
      await says(`status -s ${SRV}`, '', odd);
    }
  });
});

test('completion offers profiles, services and groups, after a comma too, and asks the first for its categories', async (t) => {
  const { profiles } = await startServices(t, ['shop', 'cart']);
  const { run } = commandWith(t, profiles, {
    groups: { both: ['shop', 'cart'] },
    listed: { pay: { url: 'http://a' } },
  });
  const offered = async (...words: string[]) => {
    const { stdout } = await run(['__complete', ...words]);
    return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
  };
  assert.deepEqual(await offered('list', '-s', ''), ['shop', 'cart', 'pay', '@both']);
  assert.deepEqual(await offered('list', '--service=shop,c'), ['--service=shop,cart']);
  assert.deepEqual(await offered('list', '--profile', 's'), ['shop']);
  assert.deepEqual(await offered('list', '--profile=c'), ['--profile=cart']);
  assert.deepEqual(await offered('enable', '--permanent', '--profile=shop', '-y', 'DATA'), ['DATABASE']);
  assert.deepEqual(await offered('-s', '@both', 'enable', 'DATA'), ['DATABASE']);
  assert.deepEqual(await offered('enable', '-s', 'shop', 'DATA'), ['DATABASE']);
});
