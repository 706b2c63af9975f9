import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { configSchema, parseConfig } from '../src/options/config.ts';
import { isRdcpError } from '../src/wire/errors.ts';
import { VERSION } from '../src/wire/version.ts';

const ISSUER = { issuer: 'them', audience: 'us', algorithms: ['HS256'], secret: 's'.repeat(32) };

function refusal(input: unknown): string {
  try {
    parseConfig(input);
  } catch (error) {
    assert.ok(isRdcpError(error));
    assert.equal(error.code, 'RDCP_CONFIG_INVALID');
    return error.message;
  }
  throw new Error(`accepted ${JSON.stringify(input)}`);
}

test('without a configuration every default is filled in', () => {
  const config = parseConfig(undefined);
  assert.deepEqual(config.server, {
    host: '127.0.0.1',
    port: 9465,
    allowedHosts: [],
    behindTlsProxy: false,
    trustedProxies: [],
  });
  assert.deepEqual(config.controls, {
    defaultDuration: 900,
    maxDuration: 86_400,
    maxTemporaryPerTenant: 100,
    budget: {
      callsPerSecond: 500,
      categories: {},
      process: { callsPerSecond: 2000, bytesPerSecond: 1024 * 1024 },
    },
  });
  assert.deepEqual(config.emit, { redact: [] });
  assert.equal(config.limits.controlPerMinute, 60);
  assert.equal(config.audit.retentionDays, 90);
  assert.equal(config.store, 'memory:');
});

test('the error of a wrong configuration is one line that names the field and the allowed values', () => {
  const cases: [unknown, RegExp][] = [
    [{ sever: {} }, /sever is not a known field; did you mean server\?$/],
    [{ server: { prot: 1 } }, /server\.prot is not a known field; did you mean server\.port\?$/],
    [{ limits: { readPerMinut: 1 } }, /did you mean limits\.readPerMinute\?$/],
    [{ constructor: {} }, /constructor is not a known field$/],
    [{ server: { allowedHosts: ['shop.example:9465'] } }, /server\.allowedHosts\.0 must be a host name without a port/],
    [{ server: { allowedHosts: ['https://shop.example'] } }, /server\.allowedHosts\.0 must be a host name/],
    [{ server: { allowedHosts: ['a', '*.shop.example'] } }, /server\.allowedHosts\.1 must be a host name/],
    [{ adopt: { pinoo: true } }, /did you mean adopt\.pino\?$/],
    [{ categories: { database: {} } }, /categories\.database .*\^\[A-Z\]/],
    [{ categories: { DATABASE: { on: true } } }, /categories\.DATABASE\.on is not a known field/],
    [{ security: { apiKeys: [{ id: 'a' }] } }, /security\.apiKeys.*hash/],
    [{ controls: { defaultDuration: '2h', maxDuration: '1h' } }, /controls\.defaultDuration .*maxDuration/],
    [{ store: 'mysql://x' }, /store must be 'memory:', 'sqlite:FILE'/],
    [{ health: { db: 1 } }, /health\.db must be a function/],
    [{ server: true }, /server must be false or an object$/],
    [{ security: { apiKeys: 'keys.json' } }, /security\.apiKeys must be an object or an array$/],
    [{ categories: { 'A\nB': {} } }, /categories\.A\\u000aB must be a category name/],
    [
      { security: { jwt: { ...ISSUER, algorithms: [] } } },
      /security\.jwt\.algorithms must hold at least one algorithm$/,
    ],
    [{ security: { jwt: { ...ISSUER, audience: [] } } }, /security\.jwt\.audience must have at least 1 items$/],
    [{ security: { jwt: [{ ...ISSUER, audience: [''] }] } }, /security\.jwt\.0\.audience\.0 must have at least 1 char/],
    [{ security: { jwt: { ...ISSUER, audience: '' } } }, /security\.jwt\.audience must have at least 1 char/],
    [{ security: { jwt: { ...ISSUER, issuer: '' } } }, /security\.jwt\.issuer must not be empty$/],
    ['x', /object/],
  ];
  for (const [input, expected] of cases) {
    const message = refusal(input);
    assert.match(message, expected);
    assert.ok(!message.includes('\n'), message);
  }
});

test('the version is the one of package.json', () => {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'));
  assert.equal((manifest as { version: string }).version, VERSION);
});

// Every option that the schema describes as a number, a switch or a choice, at its bounds and beyond them.

interface Described {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly additionalProperties?: Described | boolean;
  readonly items?: Described;
  readonly anyOf?: readonly Described[];
}

/** What an option cannot be given without. */
const BESIDE: Record<string, object> = {
  'security.tokens': { issuer: 'https://us.example', audience: 'us', secret: 's'.repeat(32) },
  'security.tickets': { issuers: [] },
  'security.jwt': { issuer: 'them', audience: 'us', algorithms: ['HS256'], secret: 's'.repeat(32) },
  'security.introspection': { endpoint: 'https://us.example/introspect', clientId: 'us', clientSecret: 's'.repeat(32) },
  'security.apiKeys.0': { id: 'k', hash: `sha256:${'0'.repeat(64)}`, clientId: 'c', scopes: ['status'] },
  'security.mtls.identities.0': { subject: 'CN=ops', userId: 'ops', scopes: ['status'] },
  'notify.webhook': { url: 'https://hooks.example', secret: `whsec_${Buffer.alloc(24).toString('base64')}` },
  tenancy: { isolation: 'organization' },
  'adopt.map.0': { match: '*' },
  'alerts.0': { name: 'errors', match: { alertname: 'HighErrorRate' }, enable: ['DATABASE'], for: '15m' },
};
/** The same, where the option itself decides what that is. */
const BESIDE_OPTION: Record<string, Record<string, object>> = {
  errorRate: { 'alerts.0': { name: 'errors', enable: ['DATABASE'], for: '15m' } },
  aborted: {
    'alerts.0': { name: 'errors', enable: ['DATABASE'], for: '15m' },
    'alerts.0.when': { errorRate: 0.5 },
  },
  uncaught: { 'alerts.0': { name: 'errors', enable: ['DATABASE'], for: '15m' } },
};
const LIMITED = ['apiKeys.0', 'mtls.identities.0', 'jwt', 'jwt.0', 'introspection', 'introspection.0'];
for (const from of LIMITED) BESIDE[`security.${from}.allow`] = { categories: ['DB_*'] };
BESIDE['security.jwt.0'] = BESIDE['security.jwt'] as object;
BESIDE['notify.webhook.0'] = BESIDE['notify.webhook'] as object;

function* leaves(described: Described, path: readonly string[]): Generator<readonly [readonly string[], Described[]]> {
  const forms = described.anyOf ?? [described];
  const simple = forms.filter(
    ({ properties, additionalProperties, items }) => !properties && !additionalProperties && !items,
  );
  if (
    simple.some(({ type, enum: choices }) => choices !== undefined || /^(?:integer|number|boolean)$/.test(type ?? ''))
  ) {
    yield [path, [...forms]];
  }
  for (const { properties = {}, additionalProperties, items, anyOf } of forms) {
    if (anyOf !== undefined) yield* leaves({ anyOf }, path);
    for (const [name, inner] of Object.entries(properties)) yield* leaves(inner, [...path, name]);
    if (typeof additionalProperties === 'object') yield* leaves(additionalProperties, [...path, 'DATABASE']);
    if (items !== undefined) yield* leaves(items, [...path, '0']);
  }
}

/** A configuration with this one value, and what it cannot be given without. */
function configOf(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, name, index) => {
    const here = path.slice(0, index).join('.');
    const beside = BESIDE_OPTION[path.at(-1) ?? '']?.[here] ?? BESIDE[here];
    return name === '0' ? [inner] : { ...beside, [name]: inner };
  }, value);
}

function refusalOf(path: readonly string[], value: unknown): string | undefined {
  try {
    parseConfig(configOf(path, value));
    return undefined;
  } catch (error) {
    assert.ok(isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID', String(error));
    assert.ok(!error.message.includes('\n'));
    return error.message;
  }
}

const OPTIONS = [...leaves(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Described, [])];
const shown = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));

function taken(path: readonly string[], value: unknown): void {
  assert.equal(refusalOf(path, value), undefined, `${path.join('.')}: ${shown(value)}`);
}

function refused(path: readonly string[], value: unknown): string {
  const message = refusalOf(path, value) ?? assert.fail(`${path.join('.')} takes ${shown(value)}`);
  assert.ok(message.startsWith(`configuration: ${path.join('.')} must `), `${shown(value)}: ${message}`);
  return message;
}

test('every number among the options is taken up to its bounds, and not beyond', () => {
  const seen: string[] = [];
  for (const [path, forms] of OPTIONS) {
    const number = forms.find(({ type }) => type === 'integer' || type === 'number');
    // A duration may be text as well; its bounds are those of its own option.
    if (number === undefined || forms.some(({ type }) => type === 'string')) continue;
    seen.push(path.join('.'));
    const lowest = number.minimum ?? (number.exclusiveMinimum ?? Number.NaN) + 1;
    const { maximum: highest = Number.NaN } = number;
    assert.ok(Number.isFinite(lowest) && Number.isFinite(highest), `${path.join('.')} has bounds`);
    for (const value of [lowest, highest]) taken(path, value);
    assert.match(refused(path, lowest - 1), /must be (?:at least|more than) \d+$/);
    const beyond = refused(path, highest === Number.MAX_SAFE_INTEGER ? highest * 2 : highest + 1);
    assert.match(beyond, new RegExp(`must be at most ${highest}$`), beyond);
    for (const value of [Number.NaN, Infinity, -Infinity, '1', '', null, true, [], {}, 1n]) {
      assert.match(refused(path, value), /must be /, shown(value));
    }
    if (number.type === 'integer') assert.match(refused(path, lowest + 0.5), /must be a whole number$/);
  }
  for (const name of [
    'server.port',
    'limits.maxCategories',
    'tail.rate',
    'controls.budget.categories.DATABASE.burst',
  ]) {
    assert.ok(seen.includes(name), `${name} is among ${seen.join(', ')}`);
  }
  assert.ok(seen.length >= 24, `${seen.length}`);
});

test('every switch and every choice among the options takes what it names alone', () => {
  let seen = 0;
  for (const [path, forms] of OPTIONS) {
    const choices = forms.flatMap(({ enum: names, const: only, type }) =>
      type === 'boolean' && only === undefined ? [true, false] : (names ?? (only === undefined ? [] : [only])),
    );
    // One level needs more than itself, which other tests are about.
    if (choices.length === 0 || path.at(-1) === 'isolation') continue;
    seen += 1;
    for (const value of choices) taken(path, value);
    for (const value of ['', 'nonsense', 'TRUE', 0, 1, null, Number.NaN, '\u0000', '\ud800', ` ${choices[0]}`]) {
      refused(path, value);
    }
  }
  assert.ok(seen >= 15, `${seen}`);
});

test('a duration is taken up to its bounds, in each of its forms, and not beyond', () => {
  const both = (maxDuration: unknown) => refusalOf(['controls'], { maxDuration, defaultDuration: 1 });
  for (const value of [1, '1s', 315_360_000, '315360000s', '5256000m', '87600h', '3650d']) {
    assert.equal(both(value), undefined, String(value));
  }
  for (const value of [315_360_001, '315360001s', '87601h', '3651d', Number.MAX_SAFE_INTEGER]) {
    assert.equal(both(value), 'configuration: controls.maxDuration must be at most 3650d', String(value));
  }
  for (const value of [0, Number.NaN, '', '1w']) {
    assert.match(both(value) ?? '', /^configuration: controls\.maxDuration must be .*(?:<n>d|a number|a string)/);
  }
  for (const value of [null, true, [], {}]) {
    assert.equal(both(value), 'configuration: controls.maxDuration must be a number or a string', shown(value));
  }
});
