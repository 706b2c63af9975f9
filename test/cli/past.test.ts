// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runWithAttributes, runWork } from '../../src/api.ts';
import { ending } from './run.ts';
import { realService } from './service.ts';

describe('a complaint a minute ago', () => {
  const { service, rdcp } = realService({
    emit: { to: () => assert.fail('a recorded line is not written') },
    recorder: { categories: ['PAST_*'] },
  });
  const orders = service.category('PAST_ORDERS');
  const order = (user: string, fails = false) =>
    runWithAttributes({ 'user.id': user }, () =>
      runWork('order', () => {
        orders.debug(`of ${user}`, { cents: 3462 });
        if (fails) orders.fail(new RangeError('secret'));
      }),
    );

  it('failures lists the work that failed, --open shows its lines, and without any it says how far back it knows', async () => {
    assert.match((await rdcp(['failures'])).stdout, /^No work has (?:failed|ended).* PAST_ORDERS .*\n$/);
    for (const user of ['41', '42', '43']) order(user, user !== '43');
    const { code, stdout } = await rdcp(['failures']);
    assert.equal(code, 0);
    const [head, first, second, ...others] = stdout.trimEnd().split('\n');
    assert.match(head ?? '', /^# +WHEN +AGO +SERVICE +WHAT +WHO +LINES$/);
    assert.match(
      first ?? '',
      /^1 +[\d:]{8}(?:Z|[+-][\d:]+) +\ds +\S+ +order failed after \d+ ms, RangeError +user\.id=42 +1$/,
    );
    assert.match(second ?? '', /^2 .* user\.id=41 +1$/);
    assert.deepEqual(others, []);
    const opened = await rdcp(['failures', '--open', '2']);
    assert.match(
      opened.stdout,
      /^order failed after \d+ ms, RangeError:\n[\d:.]+Z PAST_ORDERS of 41 cents=3462 .*recorded.*\n$/,
    );
    const { failures } = JSON.parse((await rdcp(['failures', 'past_*', '-m', 'user.id=41', '-o', 'json'])).stdout);
    assert.equal(failures.length, 1);
    const byId = await rdcp(['failures', '--open', failures[0].id, '-o', 'json']);
    assert.deepEqual([JSON.parse(byId.stdout).message, JSON.parse(byId.stdout).recorded], ['of 41', true]);
    assert.match((await rdcp(['failures', '--open', '3'])).stderr, /there is no 3 among 2 failures/);
    assert.match((await rdcp(['failures', '-o', 'wide'])).stdout, new RegExp(` ${failures[0].id} .* PAST_ORDERS 1 `));
  });

  it('tail --since shows the recorded lines of one user, then where live ones begin', async () => {
    order('44');
    const { heard, interrupted } = ending(/cents.*\n.*now:[^\n]*\n.*cents/);
    const live = await rdcp(['tail', 'PAST_ORDERS', '-m', 'user.id=44', '--since', '50s'], {
      interrupted,
      heard: (text) => {
        if (/now:/.test(text)) order('44');
        heard(text);
      },
    });
    const [past, now, next] = live.stdout.split('\n');
    assert.match(live.stderr, /^What is kept reaches \d+s back; older lines are not in memory\.$/m);
    assert.match(past ?? '', / PAST_ORDERS of 44 cents=3462 .*recorded/);
    assert.match(now ?? '', /^[\d:.]+Z now: live lines from here on$/);
    assert.match(next ?? '', / PAST_ORDERS of 44 cents=3462(?!.*recorded)/);
    const json = await rdcp(['tail', 'PAST_ORDERS', '--text', 'of 44', '--since', '50s', '--past', '-o', 'json']);
    assert.equal(json.stdout.trim().split('\n').length, 2);
    assert.match((await rdcp(['tail', 'PAST_ORDERS', '--since', '2m'])).stderr, /since must be at most 1m/);
  });
});
