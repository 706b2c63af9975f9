import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CategoryNames, categoryNameOf } from '../../src/adopt/names.ts';
import { isCategoryName } from '../../src/wire/names.ts';
import fc from '../support/fast-check.ts';

const RUNS = 300;

/** Names that collide often, and names of every other kind. */
const loggerName = fc.oneof(
  fc.stringMatching(/^[aB]{1,2}[-:._ /]{0,2}[aB]{0,2}$/),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.stringMatching(/^[a-z]{60,70}[-:][a-z]{0,3}$/),
  fc.stringMatching(/^(?:X-)?[A-Z0-9_-]{0,70}$/),
);

/** The category of each logger once all have come, in that order. */
function assignAll(loggers: readonly string[], rules: ConstructorParameters<typeof CategoryNames>[0] = []) {
  const categories = new Map<string, string | undefined>();
  const names = new CategoryNames(rules, (logger, name) => {
    assert.ok(categories.has(logger), 'only a known logger moves');
    categories.set(logger, name);
  });
  for (const logger of loggers) categories.set(logger, names.assign(logger)?.name);
  return categories;
}

test('a name becomes upper case with underscores, at the borders of words', () => {
  const expected = {
    'koa-router': 'KOA_ROUTER',
    'express:router': 'EXPRESS_ROUTER',
    UsersService: 'USERS_SERVICE',
    'HTTPServer v2': 'HTTP_SERVER_V2',
    DATABASE: 'DATABASE',
    'X-TEAM-A': 'X-TEAM-A',
    '@scope/package': 'SCOPE_PACKAGE',
    '2fa': 'LOGGER_2FA',
    '-- a --': 'A',
  };
  for (const [logger, category] of Object.entries(expected)) assert.equal(categoryNameOf(logger), category);
});

test('names without a letter, and names that are too long, differ by a hash that never changes', () => {
  assert.equal(categoryNameOf(''), 'LOGGER_NORSE4Z');
  assert.notEqual(categoryNameOf('日本'), categoryNameOf('中国'));
  const long = 'a-very-long-name-'.repeat(20);
  assert.equal(categoryNameOf(long), 'A_VERY_LONG_NAME_A_VERY_LONG_NAME_A_VERY_LONG_NAME_A_VER_W6N5ZDV');
});

test('every name becomes a category name', () => {
  fc.assert(
    fc.property(loggerName, (logger) => {
      assert.ok(isCategoryName(categoryNameOf(logger)), categoryNameOf(logger));
      if (isCategoryName(logger)) assert.equal(categoryNameOf(logger), logger);
    }),
    { numRuns: RUNS },
  );
});

test('different loggers get different categories, the same ones whichever came first', () => {
  const several = fc.uniqueArray(loggerName, { maxLength: 12 });
  fc.assert(
    fc.property(several, fc.infiniteStream(fc.nat()), (loggers, order) => {
      const categories = assignAll(loggers);
      assert.equal(new Set(categories.values()).size, loggers.length);
      for (const name of categories.values()) assert.ok(name !== undefined && isCategoryName(name), name);
      const sorted = loggers.map((logger) => ({ logger, at: order.next().value as number }));
      const shuffled = sorted.sort((one, other) => one.at - other.at).map(({ logger }) => logger);
      for (const [logger, name] of assignAll(shuffled)) assert.equal(name, categories.get(logger));
    }),
    { numRuns: RUNS },
  );
});

test('of colliding loggers the one keeps the name that has it already, then the first in alphabetical order', () => {
  const categories = assignAll(['koa:router', 'KOA_ROUTER', 'koa-router']);
  assert.equal(categories.get('KOA_ROUTER'), 'KOA_ROUTER');
  for (const logger of ['koa-router', 'koa:router']) assert.match(categories.get(logger)!, /^KOA_ROUTER_[A-Z0-9]{7}$/);
  assert.equal(assignAll(['koa:router', 'koa-router']).get('koa-router'), 'KOA_ROUTER');
});

test('rules rename, group and exclude by pattern, and the first that matches applies', () => {
  const rules = [
    { match: 'secret*', exclude: true },
    { match: /^db[:.]/g, group: 'DATABASE' },
    { match: 'koa-router', name: 'ROUTES', description: 'which route' },
    { match: '*', description: 'any' },
  ];
  const categories = assignAll(['secret:keys', 'db:sql', 'db.pool', 'koa-router', 'database', 'routes'], rules);
  assert.deepEqual([...categories.values()].slice(0, 4), [undefined, 'DATABASE', 'DATABASE', 'ROUTES']);
  // What was named in a rule comes before what follows from a logger's name.
  assert.match(categories.get('database')!, /^DATABASE_/);
  assert.match(categories.get('routes')!, /^ROUTES_/);
  const names = new CategoryNames(rules, () => assert.fail('moved'));
  assert.deepEqual(
    ['koa-router', 'else'].map((logger) => names.assign(logger)?.description),
    ['which route', 'any'],
  );
  assert.equal(new CategoryNames([{ match: 'a.c' }], () => {}).assign('abc')?.description, undefined);
});
