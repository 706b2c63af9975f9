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
  const { service, rdcp, says } = realService({}, [operator, admin, blind]);
  const categories = NAMES.map((name) => service.category(name));
  const [asAdmin, asBlind] = [admin, blind].map(({ key }) => ({ env: { RDCP_API_KEY: key } }));
  const audit = async () => JSON.parse((await says('audit -o json', undefined, asAdmin)).stdout).entries;
  const on = () => NAMES.filter((_, index) => categories[index]?.enabled);
  const reset = () => rdcp(['reset', '--all', '--yes']);

  for (const action of ['enable', 'toggle']) {
    it(`${action} lasts 15 minutes, and says until when; --permanent stays`, async () => {
      const { stdout } = await says(
        `${action} CLI_POOL`,
        /^CLI_POOL on for 15m, until (?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:Z|[+-][\d:]+)\n/,
      );
      assert.equal(stdout.match(/CLI_POOL/g)?.length, 1, 'a fact is said once');
      const listed = JSON.parse((await rdcp(['list', '--json'])).stdout).categories;
      const { temporary, otelrdcp_expiresAt } = listed.find(({ name }: { name: string }) => name === 'CLI_POOL');
      assert.equal(temporary, true);
      assert.ok(Math.abs(Date.parse(otelrdcp_expiresAt) - Date.now() - 900_000) < 60_000);
      await reset();
      await says(
        `${action} CLI_POOL --permanent`,
        /^(?!.*until)CLI_POOL on without an end\nin this process alone: other processes/s,
      );
      await reset();
    });
  }

  it('--level says from which level up, and that categories of the application have debug lines alone', async () => {
    await says('enable CLI_POOL --level info --for 10m', /^CLI_POOL on from info up for 10m, until/m, {
      err: 'CLI_POOL: no levels, but debug lines alone; none of them come out at info.\n',
    });
    assert.deepEqual([(await audit())[0].otelrdcp_level, on()], ['info', []]);
    await says('list --on', /^CLI_POOL +on +\d+m \d+s, from info up /m);
    await says('status', /^CLI_POOL +on +from info up$/m);
    await says('enable CLI_POOL --level trace --permanent', undefined, {
      err: 'CLI_POOL: no levels, but debug lines alone; all of them come out at trace.\n',
    });
    assert.deepEqual(on(), ['CLI_POOL']);
    await reset();
    await says('enable CLI_POOL --level trace', undefined, { ...asBlind, err: '' });
    await reset();
  });

  it('quieten is for a while, is listed, and ends with end', async () => {
    await says('quieten CLI_POOL --for 1h --reason noisy', /^CLI_POOL quiet below warn for 1h, until/m);
    const [entry] = await audit();
    assert.deepEqual([entry.action, entry.otelrdcp_level, entry.reason], ['enable', 'warn', 'noisy']);
    await says('list', /^CLI_POOL +quiet +\S+ \S+, quiet below warn /m);
    await says('audit', / enable, quiet below warn +CLI_POOL /, asAdmin);
    await says('list --on', /^CLI_POOL +quiet/m);
    await says('end CLI_POOL');
    await says('list', /^(?!.*quiet)/s);
    await says('quieten CLI_POOL --above error --dry-run', /^CLI_POOL would be quiet below error for 15m, until/m);
  });

  it('a budget ends with the time as well', async () => {
    await says('enable CLI_POOL --calls 5 --for 10m', /CLI_POOL on for 10m, until/);
    assert.deepEqual((await audit())[0].otelrdcp_budget, { calls: 5 });
    await reset();
  });

  it('accepts names in lower case, and several in one word', async () => {
    await says('enable cli_pool,cli_cache');
    assert.deepEqual(on(), ['CLI_POOL', 'CLI_CACHE']);
    await reset();
  });

  it('shows what a pattern stands for, and asks first; without a terminal it takes --yes', async () => {
    await says('enable cli_*s', undefined, {
      typed: 'n\n',
      code: 1,
      err: /^CLI_\*S matches CLI_QUERIES\.\nenable this category for 15m\? \[y\/N\] Nothing was changed\.\n$/,
    });
    assert.deepEqual(on(), []);
    await says('enable CLI_* --for 1h', undefined, { typed: 'yes\n', err: /enable these 3 categories for 1h\?/ });
    assert.deepEqual(on(), NAMES);
    await reset();
    await says('enable CLI_*', '', { code: 2, err: 'rdcp: a pattern (CLI_*) needs --yes without a terminal\n' });
    await says('enable CLI_????? --yes', undefined, { err: 'CLI_????? matches CLI_CACHE.\n' });
    assert.deepEqual(on(), ['CLI_CACHE']);
    await reset();
    await says('enable NO_* --yes', '', { code: 1, err: "rdcp: no category matches 'NO_*'; see 'rdcp list'\n" });
  });

  it('offers the nearest names for a misspelt one', async () => {
    const interrupted = AbortSignal.timeout(30_000);
    for (const command of ['enable', 'tail', 'forecast', 'watch']) {
      const err = /^rdcp: (?:RDCP_CATEGORY_NOT_FOUND: )?[^\n]*CLI_POL; did you mean CLI_POOL\?\n$/;
      await says(`${command} CLI_POL`, '', { ...asAdmin, interrupted, code: 1, err });
    }
    await says('enable SOMETHING_ELSE', '', { code: 1, err: /SOMETHING_ELSE; see 'rdcp list'\n$/ });
    await says('enable CLI_POL', '', { ...asBlind, code: 1, err: /^rdcp: RDCP_CATEGORY_NOT_FOUND/ });
  });

  it('--dry-run shows what would change, and changes nothing', async () => {
    const entries = (await audit()).length;
    await says('enable CLI_* --dry-run', /^CLI_CACHE, CLI_POOL, CLI_QUERIES would be on for 15m, until /m, {
      err: /\nDry run: nothing was changed\.\n$/,
    });
    assert.deepEqual(on(), []);
    assert.equal((await audit()).length, entries);
  });

  it('end shows what was on alone, says what stays on, and is called end in the trail', async () => {
    await says('enable CLI_POOL --permanent');
    await says('enable CLI_CACHE');
    await says('enable CLI_QUERIES -m user.id=42');
    await says('end --all --yes', /^CLI_CACHE off\n1 activation ended\n/, {
      err: /^Still on, .*: CLI_POOL; to switch off: rdcp disable CLI_POOL$/m,
    });
    await says('end CLI_POOL', /^(?!.*CLI_POOL)/s, { err: /^Still on, .*: CLI_POOL; / });
    await says('reset CLI_POOL');
    await says('end CLI_POOL CLI_CACHE', /^Ended nothing\n/);
    const words = async (more = '') =>
      (await says(`audit --limit 3 ${more}`, undefined, asAdmin)).stdout.match(/(?<= )(?:end|reset|enable)(?= )/g);
    assert.deepEqual(await words(), ['end', 'reset', 'end']);
    assert.deepEqual(await words('--action end'), ['end', 'end', 'end']);
    assert.deepEqual((await words('--action reset'))?.includes('end'), false);
  });

  it('-o wide shows more, and colours are for terminals', async () => {
    await says('list -o wide', /DROPPED +DECIDED BY +DEFAULT +DESCRIPTION\n/);
    // The default budget, also of what is off.
    await says('list -o wide', /^CLI_POOL +off +- +(?:\d+|-) +- +500\/s +/m);
    for (const [options, coloured] of [
      [{}, false],
      [{ typed: '' }, true],
      [{ typed: '', env: { NO_COLOR: '1' } }, false],
      [{ typed: '', env: { TERM: 'dumb' } }, false],
      [{ typed: '', env: { TERM: '' } }, false],
      [{ env: { FORCE_COLOR: '1' } }, true],
      [{ typed: '', env: { FORCE_COLOR: '0' } }, false],
    ] as readonly [RunOptions, boolean][]) {
      const { stdout } = await rdcp(['status'], options);
      assert.equal(stdout.includes('\u001b['), coloured, JSON.stringify(options));
    }
  });
});
