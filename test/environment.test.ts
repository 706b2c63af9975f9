import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashApiKey } from '../src/access/api-key.ts';
import { configFromEnvironment, type Environment, unknownVariables } from '../src/assembly/register/environment.ts';
import { unusableVariables } from '../src/assembly/register/otel-variables.ts';
import { parseConfig } from '../src/options/config.ts';
import { isRdcpError } from '../src/wire/errors.ts';

const SECRET = 'a-secret-of-thirty-two-characters';

const FILES: Record<string, string> = {
  'rdcp.json': JSON.stringify({ server: { host: '::1', port: 7000 }, controls: { defaultDuration: '5m' } }),
  'mounted.json': JSON.stringify({ server: false }),
  'marked.json': `\uFEFF${JSON.stringify({ server: false })}`,
  'record.json': JSON.stringify({
    security: { apiKeys: [{ id: 'a', hash: hashApiKey('x'), clientId: 'a', scopes: ['status'] }] },
  }),
  'keys-named.json': JSON.stringify({ security: { apiKeys: { file: 'keys.json' } } }),
  'keys.json': '{ "keys": [] }',
  'misspelt.json': JSON.stringify({ controls: { maxDurations: 5 } }),
  'list.json': '[]',
  'broken.json': '{',
  'null.json': 'null',
};

function read(env: Environment, declared?: unknown) {
  const readFile = (path: string) => {
    const text = FILES[path];
    if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return text;
  };
  return configFromEnvironment(env, readFile, () => {}, declared);
}

describe('the configuration from the environment', () => {
  it('is empty where nothing is set, or set to nothing', () => {
    assert.deepEqual(read({}), {});
    assert.deepEqual(
      read({ RDCP_CONFIG: '', RDCP_HOST: '', RDCP_PORT: '', RDCP_STORE: '', RDCP_SERVER_API_KEY: '' }),
      {},
    );
  });

  it('is the file of RDCP_CONFIG, and the other variables over it', () => {
    assert.deepEqual(read({ RDCP_CONFIG: 'rdcp.json', RDCP_PORT: '0', RDCP_STORE: 'memory:' }), {
      server: { host: '::1', port: 0 },
      controls: { defaultDuration: '5m' },
      store: 'memory:',
    });
    assert.deepEqual(read({ RDCP_CONFIG: 'mounted.json' }), { server: false });
    assert.deepEqual(read({ RDCP_RECORD: 'ORDERS, DB_*' }), { recorder: { categories: ['ORDERS', 'DB_*'] } });
    assert.deepEqual(read({ RDCP_CONFIG: 'null.json' }), {}, 'a file that sets nothing');
    assert.deepEqual(read({ RDCP_CONFIG: 'marked.json' }), { server: false }, 'with a byte order mark');
    assert.deepEqual(read({ RDCP_CONFIG: 'mounted.json', RDCP_HOST: '127.0.0.1' }), { server: { host: '127.0.0.1' } });
  });

  it('is what the file of OTEL_CONFIG_FILE declares, and the other variables over it', () => {
    const declared = { server: { host: '::1' }, controls: { defaultDuration: '5m' } };
    assert.deepEqual(read({ RDCP_PORT: '0' }, declared), { ...declared, server: { host: '::1', port: 0 } });
    assert.deepEqual(read({}, null), {}, 'rdcp without options');
    assert.throws(() => read({}, { controls: { maxDurations: 5 } }), /^RdcpError: OTEL_CONFIG_FILE: .*maxDurations/);
    assert.throws(
      () => read({ RDCP_CONFIG: 'rdcp.json' }, declared),
      /RDCP_CONFIG: cannot be combined with rdcp in the file of OTEL_CONFIG_FILE/,
    );
  });

  it('holds the hash of RDCP_SERVER_API_KEY, with every scope, and never the key', () => {
    const config = read({ RDCP_SERVER_API_KEY: SECRET });
    assert.deepEqual(parseConfig(config).security.apiKeys, [
      { id: 'env', hash: hashApiKey(SECRET), clientId: 'env', scopes: ['discovery', 'status', 'control', 'admin'] },
    ]);
    assert.doesNotMatch(JSON.stringify(config), new RegExp(SECRET));
  });

  it('adds RDCP_SERVER_API_KEY to the records of the file', () => {
    const keys = parseConfig(read({ RDCP_CONFIG: 'record.json', RDCP_SERVER_API_KEY: SECRET })).security.apiKeys;
    assert.ok(Array.isArray(keys));
    assert.deepEqual(
      keys.map(({ id }) => id),
      ['a', 'env'],
    );
  });

  it('takes RDCP_API_KEY, the key of the command, where the service has no other credential, and warns', () => {
    const warnings: string[] = [];
    const read = (env: Environment) =>
      configFromEnvironment(
        env,
        (path) => FILES[path] ?? '',
        (line) => warnings.push(line),
      );
    assert.deepEqual(read({ RDCP_API_KEY: SECRET }), read({ RDCP_SERVER_API_KEY: SECRET }));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /RDCP_SERVER_API_KEY/);
    for (const own of [
      { RDCP_API_KEYS_FILE: 'keys.json' },
      { RDCP_CONFIG: 'keys-named.json' },
      { RDCP_CONFIG: 'record.json' },
      { RDCP_SERVER_API_KEY: `${SECRET}-of-the-service` },
    ]) {
      assert.deepEqual(read({ ...own, RDCP_API_KEY: SECRET }), read(own), JSON.stringify(own));
    }
    assert.equal(warnings.length, 1);
  });

  it('names the keys file of RDCP_API_KEYS_FILE', () => {
    assert.deepEqual(read({ RDCP_API_KEYS_FILE: 'keys.json' }), { security: { apiKeys: { file: 'keys.json' } } });
  });

  it('says that a file is not JSON, where if the parser knows, and quotes nothing of it', () => {
    const text = `{\n  "security": { "apiKeys": [{ "hash": "${SECRET}" }] },\n  "server": { "port" 9465 }\n}`;
    assert.throws(
      () => configFromEnvironment({ RDCP_CONFIG: 'etc/rdcp.json' }, () => text),
      (error) => isRdcpError(error) && error.message === 'RDCP_CONFIG: etc/rdcp.json is not JSON (line 3 column 22)',
    );
    assert.throws(
      () => configFromEnvironment({ RDCP_CONFIG: 'etc/rdcp.json' }, () => `{ "hash": "${SECRET}", "port": }`),
      (error) => isRdcpError(error) && error.message === 'RDCP_CONFIG: etc/rdcp.json is not JSON',
    );
  });

  it('warns of variables that nothing reads, with the nearest name', () => {
    assert.deepEqual(unknownVariables({ RDCP_PORT: '1', RDCP_URL: 'http://127.0.0.1', OTEL_X: '', PATH: '' }), []);
    assert.deepEqual(
      unknownVariables({ RDCP_PROT: '1', RDCP_SERVER_APIKEY: 'x', rdcp_store: 'x', RDCP_KEYS_FILE: 'x' }),
      [
        'RDCP_PROT is not known; did you mean RDCP_PORT?',
        'RDCP_SERVER_APIKEY is not known; did you mean RDCP_SERVER_API_KEY?',
        'rdcp_store is not known; did you mean RDCP_STORE?',
        'RDCP_KEYS_FILE is not known: known variables are RDCP_CONFIG, RDCP_HOST, RDCP_PORT, RDCP_STORE, RDCP_RECORD, RDCP_SERVER_API_KEY, RDCP_API_KEYS_FILE, RDCP_API_KEY, RDCP_URL, RDCP_PROFILE, RDCP_SERVICES_FILE',
      ],
    );
  });

  for (const [variable, env] of [
    ['RDCP_CONFIG', { RDCP_CONFIG: 'missing.json' }],
    ['RDCP_CONFIG', { RDCP_CONFIG: 'broken.json' }],
    ['RDCP_CONFIG', { RDCP_CONFIG: 'list.json' }],
    ['RDCP_CONFIG', { RDCP_CONFIG: 'misspelt.json' }],
    ['RDCP_PORT', { RDCP_PORT: 'http' }],
    ['RDCP_PORT', { RDCP_PORT: '-1' }],
    ['RDCP_PORT', { RDCP_PORT: '65536' }],
    ['RDCP_STORE', { RDCP_STORE: 'mongodb://localhost' }],
    ['RDCP_RECORD', { RDCP_RECORD: 'ORDERS,,DB' }],
    ['RDCP_SERVER_API_KEY', { RDCP_SERVER_API_KEY: 'short' }],
    ['RDCP_SERVER_API_KEY', { RDCP_SERVER_API_KEY: SECRET, RDCP_API_KEYS_FILE: 'keys.json' }],
    ['RDCP_SERVER_API_KEY', { RDCP_SERVER_API_KEY: SECRET, RDCP_CONFIG: 'keys-named.json' }],
    ['RDCP_API_KEYS_FILE', { RDCP_API_KEYS_FILE: 'missing.json' }],
  ] as const) {
    it(`refuses ${JSON.stringify(env)} in one line that begins with ${variable} and shows no secret`, () => {
      assert.throws(
        () => read(env),
        (error) => {
          assert.ok(isRdcpError(error));
          assert.equal(error.code, 'RDCP_CONFIG_INVALID');
          assert.match(error.message, new RegExp(`^${variable}\\b.*$`));
          assert.ok(!error.message.includes(SECRET) && !error.message.includes('short'));
          return true;
        },
      );
    });
  }

  it('says why a file cannot be read', () => {
    for (const variable of ['RDCP_CONFIG', 'RDCP_API_KEYS_FILE']) {
      assert.throws(() => read({ [variable]: 'missing.json' }), {
        message: `${variable}: missing.json cannot be read (ENOENT)`,
      });
    }
  });
});

describe("OpenTelemetry's variables", () => {
  const applies = "not %; OpenTelemetry's default applies";
  const number = `a number above 0, ${applies}`;
  const protocol = `one of grpc, http/json, http/protobuf, ${applies}`;
  const url = 'a URL with http:// or https://';
  for (const [name, good, wrong, allowed] of [
    ['OTEL_SDK_DISABLED', ['False'], ['yes'], `one of true, false, ${applies}`],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', ['grpc', ' http/json '], ['http/probuf', 'HTTP/JSON'], protocol],
    ['OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', ['http/protobuf'], ['json'], protocol],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', ['https://u:p@c/x'], ['http//c:4318', 'c:4318', 'http://u:p@c:x'], url],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['http://[::1]:4318'], ['127.0.0.1:4317'], url],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', ['gzip'], ['zstd'], `one of gzip, none, ${applies}`],
    ['OTEL_EXPORTER_OTLP_LOGS_TIMEOUT', ['300'], ['-1', '10s'], number],
    ['OTEL_BLRP_MAX_QUEUE_SIZE', ['1', '1e3'], ['0', 'Infinity'], number],
    ['OTEL_BLRP_SCHEDULE_DELAY', ['20'], ['1s'], number],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', ['512'], ['many'], number],
    ['OTEL_METRIC_EXPORT_INTERVAL', ['60000'], ['1m'], number],
    [
      'OTEL_TRACES_SAMPLER',
      ['always_on', 'parentbased_traceidratio'],
      ['xray', 'parentbased_', 'constructor'],
      `one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio, ${applies}`,
    ],
    ['OTEL_TRACES_SAMPLER_ARG', ['0', '.5'], ['half', '1.5'], `a number from 0 to 1, ${applies}`],
    ['OTEL_EXPORTER_PROMETHEUS_PORT', ['0'], ['x', '1.5', '65536'], `a whole number from 0 to 65535, ${applies}`],
    ['OTEL_LOGS_EXPORTER', ['otlp, console,', 'none'], ['otpl', 'otlp,file'], 'of otlp, console, none, not %'],
    ['OTEL_METRICS_EXPORTER', ['otlp,prometheus'], ['promethus'], 'of otlp, prometheus, console, none, not %'],
    [
      'OTEL_PROPAGATORS',
      ['b3', 'tracecontext,baggage'],
      ['xray'],
      'of tracecontext, baggage, b3, b3multi, jaeger, none, not %',
    ],
  ] as const) {
    it(`${name} with a value that OpenTelemetry does not accept is one line`, () => {
      for (const value of ['', ' ', ...good])
        assert.deepEqual(unusableVariables({ [name]: value }), { problems: [], ignored: {} }, value);
      for (const value of wrong) {
        const { problems, ignored } = unusableVariables({ [name]: value, OTEL_OTHER: '' });
        assert.deepEqual(problems, [`${name}: must be ${allowed.replace('%', JSON.stringify(value))}`]);
        // The SDK uses the rest of a list, and a default in place of an address, by itself.
        assert.deepEqual(Object.keys(ignored), /applies$/.test(allowed) ? [name] : []);
      }
    });
  }

  it('an address for gRPC needs no scheme', () => {
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: '127.0.0.1:4317' };
    assert.deepEqual(unusableVariables(env).problems, []);
  });
});
