// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeKey } from '../auth/records.ts';
import type { RunOptions } from './run.ts';
import { realService } from './service.ts';

const NAMES = ['CLI_POOL', 'CLI_QUERIES', 'CLI_CACHE'];

describe('switching categories from the command line', () => {
  const operator = makeKey({ id: 'operator', scopes: ['discovery', 'control'] });
  const admin = makeKey({ id: 'admin', scopes: ['admin'] });
  const blind = makeKey({ id: 'blind', scopes: ['control'] });
  const { service, rdcp } = realService({}, [operator, admin, blind]);
  const categories = NAMES.map((name) => service.category(name));
  const audit = async () =>
    JSON.parse((await rdcp(['audit', '-o', 'json'], { env: { RDCP_API_KEY: admin.key } })).stdout).entries;
  const on = () => NAMES.filter((_, index) => categories[index]?.enabled);
  const reset = () => rdcp(['reset', '--all', '--yes']);

  for (const action of ['enable', 'toggle']) {
    it(`${action} lasts 15 minutes, and says until when`, async () => {
      const { code, stdout } = await rdcp([action, 'CLI_POOL']);
      assert.equal(code, 0);
      assert.match(stdout, /^CLI_POOL on for 15m, until (?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:Z|[+-][\d:]+)\n/);
      assert.equal(stdout.match(/CLI_POOL/g)?.length, 1, 'a fact is said once');
      const listed = JSON.parse((await rdcp(['list', '--json'])).stdout).categories;
      const { temporary, otelrdcp_expiresAt } = listed.find(({ name }: { name: string }) => name === 'CLI_POOL');
      assert.equal(temporary, true);
      assert.ok(Math.abs(Date.parse(otelrdcp_expiresAt) - Date.now() - 900_000) < 60_000);
      await reset();
    });

    it(`${action} --permanent stays`, async () => {
      const { stdout } = await rdcp([action, 'CLI_POOL', '--permanent']);
      assert.match(stdout, /^CLI_POOL on without an end$/m);
      assert.match(stdout, /^in this process alone: other processes/m);
      assert.doesNotMatch(stdout, /until/);
      await reset();
    });
  }

  it('--level says from which level up, and that categories of the application have debug lines alone', async () => {
    const { stdout, stderr } = await rdcp(['enable', 'CLI_POOL', '--level', 'info', '--for', '10m']);
    assert.match(stdout, /^CLI_POOL on from info up for 10m, until/m);
    assert.equal(stderr, 'CLI_POOL: no levels, but debug lines alone; none of them come out at info.\n');
    assert.deepEqual([(await audit())[0].otelrdcp_level, on()], ['info', []]);
    assert.match((await rdcp(['list', '--on'])).stdout, /^CLI_POOL +on +\d+m \d+s, from info up /m);
    assert.match((await rdcp(['status'])).stdout, /^CLI_POOL +on +from info up$/m);
    const all = await rdcp(['enable', 'CLI_POOL', '--level', 'trace', '--permanent']);
    assert.equal(all.stderr, 'CLI_POOL: no levels, but debug lines alone; all of them come out at trace.\n');
    assert.deepEqual(on(), ['CLI_POOL']);
    await reset();
    const unseen = await rdcp(['enable', 'CLI_POOL', '--level', 'trace'], { env: { RDCP_API_KEY: blind.key } });
    assert.deepEqual([unseen.code, unseen.stderr], [0, '']);
    await reset();
  });

  it('quieten is for a while, is listed, and ends with end', async () => {
    const { code, stdout } = await rdcp(['quieten', 'CLI_POOL', '--for', '1h', '--reason', 'noisy']);
    assert.equal(code, 0);
    assert.match(stdout, /^CLI_POOL quiet below warn for 1h, until/m);
    const [entry] = await audit();
    assert.deepEqual([entry.action, entry.otelrdcp_level, entry.reason], ['enable', 'warn', 'noisy']);
    assert.match((await rdcp(['list'])).stdout, /^CLI_POOL +quiet +\S+ \S+, quiet below warn /m);
    const trail = (await rdcp(['audit'], { env: { RDCP_API_KEY: admin.key } })).stdout;
    assert.match(trail, / enable, quiet below warn +CLI_POOL /);
    assert.match((await rdcp(['list', '--on'])).stdout, /^CLI_POOL +quiet/m);
    assert.equal((await rdcp(['end', 'CLI_POOL'])).code, 0);
    assert.doesNotMatch((await rdcp(['list'])).stdout, /quiet/);
    const usual = await rdcp(['quieten', 'CLI_POOL', '--above', 'error', '--dry-run']);
    assert.match(usual.stdout, /^CLI_POOL would be quiet below error for 15m, until/m);
  });

  it('a budget ends with the time as well', async () => {
    const { stdout } = await rdcp(['enable', 'CLI_POOL', '--calls', '5', '--for', '10m']);
    assert.match(stdout, /CLI_POOL on for 10m, until/);
    assert.deepEqual((await audit())[0].otelrdcp_budget, { calls: 5 });
    await reset();
  });

  it('accepts names in lower case, and several in one word', async () => {
    assert.equal((await rdcp(['enable', 'cli_pool,cli_cache'])).code, 0);
    assert.deepEqual(on(), ['CLI_POOL', 'CLI_CACHE']);
    await reset();
  });

  it('shows what a pattern stands for, and asks first', async () => {
    const refused = await rdcp(['enable', 'cli_*s'], { typed: 'n\n' });
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^CLI_\*S matches CLI_QUERIES\.\nenable this category for 15m\? \[y\/N\] Nothing was changed\.\n$/,
    );
    assert.deepEqual(on(), []);
    const agreed = await rdcp(['enable', 'CLI_*', '--for', '1h'], { typed: 'yes\n' });
    assert.equal(agreed.code, 0);
    assert.match(agreed.stderr, /enable these 3 categories for 1h\?/);
    assert.deepEqual(on(), NAMES);
    await reset();
  });

  it('takes a pattern without a terminal with --yes alone', async () => {
    const { code, stderr } = await rdcp(['enable', 'CLI_*']);
    assert.equal(code, 2);
    assert.equal(stderr, 'rdcp: a pattern (CLI_*) needs --yes without a terminal\n');
    const given = await rdcp(['enable', 'CLI_?????', '--yes']);
    assert.deepEqual([given.code, given.stderr], [0, 'CLI_????? matches CLI_CACHE.\n']);
    assert.deepEqual(on(), ['CLI_CACHE']);
    await reset();
    const none = await rdcp(['enable', 'NO_*', '--yes']);
    assert.deepEqual([none.code, none.stderr], [1, "rdcp: no category matches 'NO_*'; see 'rdcp list'\n"]);
  });

  it('offers the nearest names for a misspelt one', async () => {
    for (const command of ['enable', 'tail', 'forecast', 'watch']) {
      const { code, stdout, stderr } = await rdcp([command, 'CLI_POL'], {
        env: { RDCP_API_KEY: admin.key },
        interrupted: AbortSignal.timeout(30_000),
      });
      assert.deepEqual([code, stdout], [1, ''], command);
      assert.match(stderr, /^rdcp: (?:RDCP_CATEGORY_NOT_FOUND: )?[^\n]*CLI_POL; did you mean CLI_POOL\?\n$/);
    }
    assert.match((await rdcp(['enable', 'SOMETHING_ELSE'])).stderr, /SOMETHING_ELSE; see 'rdcp list'\n$/);
    const unseen = await rdcp(['enable', 'CLI_POL'], { env: { RDCP_API_KEY: blind.key } });
    assert.match(unseen.stderr, /^rdcp: RDCP_CATEGORY_NOT_FOUND/);
  });

  it('--dry-run shows what would change, and changes nothing', async () => {
    const entries = (await audit()).length;
    const { code, stdout, stderr } = await rdcp(['enable', 'CLI_*', '--dry-run']);
    assert.equal(code, 0);
    assert.match(stdout, /^CLI_CACHE, CLI_POOL, CLI_QUERIES would be on for 15m, until /m);
    assert.match(stderr, /\nDry run: nothing was changed\.\n$/);
    assert.deepEqual(on(), []);
    assert.equal((await audit()).length, entries);
  });

  it('end shows what was on alone, says what stays on, and is called end in the trail', async () => {
    await rdcp(['enable', 'CLI_POOL', '--permanent']);
    await rdcp(['enable', 'CLI_CACHE']);
    await rdcp(['enable', 'CLI_QUERIES', '-m', 'user.id=42']);
    const { stdout, stderr } = await rdcp(['end', '--all', '--yes']);
    assert.match(stdout, /^CLI_CACHE off\n1 activation ended\n/);
    assert.match(stderr, /^Still on, .*: CLI_POOL; to switch off: rdcp disable CLI_POOL$/m);
    const again = await rdcp(['end', 'CLI_POOL']);
    assert.doesNotMatch(again.stdout, /CLI_POOL/);
    assert.match(again.stderr, /^Still on, .*: CLI_POOL; /);
    await rdcp(['reset', 'CLI_POOL']);
    assert.equal((await rdcp(['end', 'CLI_POOL', 'CLI_CACHE'])).stdout.split('\n')[0], 'Ended nothing');
    const words = async (...args: string[]) =>
      (await rdcp(['audit', '--limit', '3', ...args], { env: { RDCP_API_KEY: admin.key } })).stdout.match(
        /(?<= )(?:end|reset|enable)(?= )/g,
      );
    assert.deepEqual(await words(), ['end', 'reset', 'end']);
    assert.deepEqual(await words('--action', 'end'), ['end', 'end', 'end']);
    assert.deepEqual((await words('--action', 'reset'))?.includes('end'), false);
  });

  it('-o wide shows more, and colours are for terminals', async () => {
    assert.match((await rdcp(['list', '-o', 'wide'])).stdout, /DROPPED +DECIDED BY +DEFAULT +DESCRIPTION\n/);
    // The default budget, also of what is off.
    assert.match((await rdcp(['list', '-o', 'wide'])).stdout, /^CLI_POOL +off +- +(?:\d+|-) +- +500\/s +/m);
    const coloured = (options: RunOptions) =>
      rdcp(['status'], options).then(({ stdout }) => stdout.includes('\u001b['));
    assert.equal(await coloured({}), false);
    assert.equal(await coloured({ typed: '' }), true);
    assert.equal(await coloured({ typed: '', env: { NO_COLOR: '1' } }), false);
    for (const TERM of ['dumb', '']) assert.equal(await coloured({ typed: '', env: { TERM } }), false);
    assert.equal(await coloured({ env: { FORCE_COLOR: '1' } }), true);
    assert.equal(await coloured({ typed: '', env: { FORCE_COLOR: '0' } }), false);
    await reset();
  });
});
