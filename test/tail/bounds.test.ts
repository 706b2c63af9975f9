import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runWithTenant } from '../../src/api.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import { forecastRequestSchema } from '../../src/wire/stream-requests.ts';
import { makeKey } from '../auth/records.ts';
import { clientOf, startServer } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { LEVELS, startTenantServer } from '../support/tenants.ts';
import { until } from '../support/until.ts';

const A_DURATION = 'must be a positive whole number of seconds, or <n>s, <n>m, <n>h or <n>d';
const LONGEST = 'A'.repeat(64);

test('every parameter of a tail is taken up to its bounds, and not beyond', async (t) => {
  const server = await startServer(t, {
    config: {
      limits: { controlPerMinute: 1000 },
      controls: { maxDuration: '1h' },
      categories: { [LONGEST]: {}, HTTP: {} },
    },
  });
  // HEAD checks all that GET does, and taps nothing.
  const statusOf = async (query: string) =>
    (await server.request(`${PATHS.tail}?${query}`, { key: 'admin', method: 'HEAD' })).status;
  for (const query of [
    `categories=${LONGEST}`,
    `categories=HTTP,${LONGEST}`,
    'categories=H%54TP',
    ...['1', '1s', '3600', '1h', '60m', '01'].map((value) => `categories=HTTP&duration=${value}`),
    ...['1', '10000', '0010000'].map((value) => `rate=${value}&categories=HTTP`),
    ...['1', '1000000000'].map((value) => `categories=HTTP&lines=${value}`),
    'categories=HTTP&log=true',
    'categories=HTTP&log=false',
  ]) {
    assert.equal(await statusOf(query), 200, query);
  }

  const NAMES = 'must be names of categories such as SQL_POOL, each once, with commas between them';
  const KNOWN = 'is not one of categories, duration, rate, lines, since, past, log';
  const each = (values: readonly string[], field: string, problem: string) =>
    values.map((value) => [`categories=HTTP&${field}=${value}`, field, problem] as const);
  const beyond: readonly (readonly [query: string, field: string, problem: string])[] = [
    ['', 'categories', 'is required'],
    ...['', ',', 'HTTP,', ',HTTP', 'HTTP,,HTTP', 'HTTP,HTTP', 'http', 'HTTP%00', 'H%zz', 'HT TP', `${LONGEST}A`].map(
      (value) => [`categories=${value}`, 'categories', NAMES] as const,
    ),
    ['categories=HTTP&categories=HTTP', 'categories', 'was given more than once'],
    ...each(['', '0', '0s', '-1', '1.5', '1e1', '%2B5', '1H', '1 s', '5x', '9'.repeat(16)], 'duration', A_DURATION),
    ...each(['3601', '3601s', '61m', '2h', '1d'], 'duration', 'must be at most 1h'),
    ...each(
      ['', '0', '10001', '-1', '1.5', '1e3', '%2B5', '%205', 'all', '9'.repeat(30)],
      'rate',
      'must be a whole number from 1 to 10000',
    ),
    ...each(['', '0', '1000000001', 'all'], 'lines', 'must be a whole number from 1 to 1000000000'),
    ...each(['', 'TRUE', '1', 'yes'], 'log', 'must be true or false'),
    ...['Categories', 'categories[]', 'tenant', '__proto__', 'constructor'].map(
      (name) => [`categories=HTTP&${name}=1`, name, KNOWN] as const,
    ),
    ['categories=HTTP&=1', "''", KNOWN],
    [`categories=HTTP&${'x'.repeat(200)}=1`, 'x'.repeat(64), KNOWN],
  ];
  for (const [query, field, problem] of beyond) {
    const { status, body } = await server.request<ErrorResponse>(`${PATHS.tail}?${query}`, { key: 'admin' });
    const { code, message, details } = body.error;
    assert.deepEqual([status, code, details?.field], [400, 'RDCP_MALFORMED_REQUEST', field], query);
    assert.equal(message, `Query parameter ${field} ${problem}`);
    assert.equal(details?.maximum, problem === 'must be at most 1h' ? '1h' : undefined, query);
  }
  const since = "must be at most 1m, the server's recorder.keepSeconds";
  for (const [path, more, message] of [
    [PATHS.tail, { duration: '2h' }, 'duration must be at most 1h'],
    [PATHS.tail, { since: '2m' }, `since ${since}`],
    [PATHS.failures, { since: '2m' }, `since ${since}`],
  ] as const) {
    const body = { categories: ['HTTP'], ...more };
    const answer = await server.request<ErrorResponse>(path, { method: 'POST', key: 'admin', body });
    assert.equal(answer.body.error.message, message, 'a field of a body is no query parameter');
  }
});

test('every field of a forecast is taken up to its bounds, and not beyond', async (t) => {
  const taken = (body: object) => forecastRequestSchema.parse(body);
  assert.deepEqual(taken({ categories: 'HTTP' }), { categories: ['HTTP'], duration: 10 });
  for (const [given, seconds] of [
    [1, 1],
    ['1s', 1],
    [60, 60],
    ['60s', 60],
    ['1m', 60],
  ]) {
    assert.equal(taken({ categories: [LONGEST], duration: given }).duration, seconds);
  }

  const server = await startServer(t, { config: { limits: { controlPerMinute: 1000 } } });
  const NAME = 'must be a category name: ^[A-Z][A-Z0-9_]{0,63}$, or ^X-[A-Z][A-Z0-9_-]{0,61}$ for a custom one';
  const each = (durations: readonly unknown[], problem: string) =>
    durations.map((duration) => [{ categories: 'HTTP', duration }, 'duration', problem] as const);
  const beyond: readonly (readonly [body: object, field: string, problem: string])[] = [
    ...each([0, -1, 1.5, 1e21, '', '0s', '10', '61', '1 s', '1S', '9999999999999999s'], A_DURATION),
    ...each([61, '61s', '2m', '1h', '1d', '999999999999999s'], 'must be at most 60s'),
    ...each([null, true, [], {}], 'must be a number or a string'),
    [{}, 'categories', 'is required'],
    ...[null, 5, {}].map((categories) => [{ categories }, 'categories', 'must be a string or an array'] as const),
    ...['', 'http', 'HTTP,DATABASE', `${LONGEST}A`, '__proto__', 'HTTP\u0000'].map(
      (categories) => [{ categories }, 'categories', NAME] as const,
    ),
    [{ categories: ['HTTP', 'http'] }, 'categories.1', NAME],
    [{ categories: [['HTTP']] }, 'categories.0', 'must be a string, received array'],
    [{ categories: [] }, 'categories', 'must hold at least one category'],
    [{ categories: ['HTTP', 'HTTP'] }, 'categories', 'must not hold a category twice'],
    [{ categories: 'HTTP', protocol: 5 }, 'protocol', 'must be a string, received number'],
    [{ categories: 'HTTP', tenant: 'acme' }, 'tenant', 'is not a known field'],
    [{ categories: 'HTTP', ['y'.repeat(200)]: 1 }, 'y'.repeat(64), 'is not a known field'],
  ];
  const ask = (body: object) => server.request<ErrorResponse>(PATHS.forecast, { key: 'control', method: 'POST', body });
  for (const [body, field, problem] of beyond) {
    const { status, body: answer } = await ask(body);
    const { code, message, details } = answer.error;
    const given = JSON.stringify(body);
    assert.deepEqual([status, code, details?.field], [400, 'RDCP_MALFORMED_REQUEST', field], given);
    assert.equal(message, `${field} ${problem}`, given);
    assert.equal(details?.maximum, problem === 'must be at most 60s' ? '1m' : undefined, given);
  }
  for (const [body, expected] of [
    [{ categories: 'HTTP', protocol: 'rdcp/2.0' }, [400, 'RDCP_VERSION_UNSUPPORTED']],
    [{ categories: 'NOWHERE' }, [404, 'RDCP_CATEGORY_NOT_FOUND']],
  ] as const) {
    const answer = await ask(body);
    assert.deepEqual([answer.status, answer.body.error.code], expected);
  }
});

test('a forecast of a tenant that the service does not know says so to an operator, and to no tenant', async (t) => {
  const server = await startTenantServer(t, { ...LEVELS.namespace, tenants: { acme: {} } });
  const knows = async (who: 'admin' | 'beta', tenantId?: string) => {
    const client = createRdcpClient({ baseUrl: server.url, ...server.as(who), ...(tenantId && { tenantId }) });
    return (await client.forecast('HTTP', { duration: 1 })).tenantKnown;
  };
  assert.deepEqual(await Promise.all([knows('admin', 'acmee'), knows('admin', 'acme')]), [false, undefined]);
  assert.deepEqual(await Promise.all([knows('admin'), knows('beta')]), [undefined, undefined]);
});

test('a forecast counts the calls of a tenant for whom the category is off, by the budget that is its own', async (t) => {
  const acme = makeKey({ id: 'acme', scopes: ['admin'], tenantId: 'acme' });
  const { rdcp, clientOf } = await startService(t, {
    security: { apiKeys: [acme.record] },
    tenancy: { isolation: 'organization' },
    categories: { FORECAST: { enabled: true } },
    controls: { budget: { categories: { FORECAST: { callsPerSecond: 10, burst: 10 } } } },
  });
  const category = rdcp.category('FORECAST');
  const client = clientOf(acme.key);
  await client.disable('FORECAST');
  const calls = setInterval(() => {
    for (const tenant of ['acme', 'beta']) runWithTenant(tenant, () => category.debug('m'));
  }, 10);
  t.after(() => clearInterval(calls));
  const { FORECAST } = (await client.forecast('FORECAST', { duration: 1 })).categories;
  const [made, dropped] = [FORECAST?.callsPerSecond.value ?? 0, FORECAST?.droppedByBudget.value ?? 0];
  assert.ok(made > 20 && made <= 105, `${made} calls a second of one tenant`);
  assert.ok(Math.abs(made - dropped - 10) < 4, `${dropped} of ${made} dropped`);
  assert.equal((await client.discovery()).categories.find(({ name }) => name === 'FORECAST')?.enabled, false);
});

test('a forecast is answered also where the longest time for a request is configured', async (t) => {
  const server = await startServer(t, { config: { limits: { requestTimeoutSeconds: Number.MAX_SAFE_INTEGER } } });
  const body = { categories: 'HTTP', duration: 1 };
  const { status } = await server.request(PATHS.forecast, { key: 'control', method: 'POST', body });
  assert.equal(status, 200);
});

test('two forecasts at a time of one identity, and no more', async (t) => {
  const client = clientOf(await startServer(t));
  const leaving = new AbortController();
  const refused: string[] = [];
  for (let asked = 0; asked < 60; asked++) {
    client
      .forecast('HTTP', { duration: 60, signal: leaving.signal })
      .catch(({ code }) => leaving.signal.aborted || refused.push(code));
  }
  await until('58 are refused', () => refused.length >= 58);
  leaving.abort(new Error('left'));
  assert.deepEqual(refused, Array(58).fill('RDCP_RATE_LIMITED'));
  const asks = () => client.forecast('HTTP', { duration: 1 }).then(Boolean, () => false);
  await until('the places are free again', asks);
});

test('a forecast says what a category that is off would emit, and emits nothing', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  const timer = setInterval(() => {
    for (let call = 0; call < 5; call++) database.debug('query', { rows: 3 });
  }, 10);
  t.after(() => clearInterval(timer));
  const client = clientOf(server, 'control');
  const { duration, instances, categories } = await client.forecast(['DATABASE', 'HTTP'], { duration: 1 });
  assert.deepEqual([duration, instances], ['1s', { asked: 1, answered: 1 }]);
  const { DATABASE, HTTP } = categories;
  const line = '2026-01-01T00:00:00.000Z DEBUG DATABASE query {"rows":3}\n'.length;
  assert.ok(DATABASE);
  const isAbout = (value: number | undefined, to: number) =>
    assert.ok(Math.abs((value ?? Number.NaN) - to) <= to / 1000, `${value} is about ${to}`);
  isAbout(DATABASE.bytesPerCall?.value, line);
  assert.ok(DATABASE.callsPerSecond.value > 50 && DATABASE.callsPerSecond.value < 600, JSON.stringify(DATABASE));
  isAbout(DATABASE.bytesPerSecond.value, DATABASE.callsPerSecond.value * line);
  isAbout(DATABASE.gigabytesPerDay.value, (DATABASE.bytesPerSecond.value * 86_400) / 1e9);
  assert.deepEqual([DATABASE.callsPerSecond.measured, DATABASE.callsPerSecond.unit], [true, 'per_second']);
  assert.deepEqual([HTTP?.callsPerSecond.value, HTTP?.bytesPerCall], [0, undefined]);
  assert.equal(database.enabled, false);
});
