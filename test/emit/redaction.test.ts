// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { request, ServerResponse } from 'node:http';
import { describe, it, test } from 'node:test';
import { logs } from '@opentelemetry/api';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import { parseConfig } from '../../src/options/config.ts';
import { createRedaction } from '../../src/wire/redaction.ts';
import fc from '../support/fast-check.ts';
import { sinkOf } from '../support/sink.ts';
import { keepRecords } from './kept-records.ts';

const PAYMENTS: CategoryDescriptor = { index: 0, name: 'PAYMENTS', description: '', defaultEnabled: false };
const SECRET = 'hunter2-hunter2';

/** Everything that comes out of one call, on every output and a tap, as one text. */
function written(
  attributes: object | (() => object),
  redact: readonly string[] | false = [],
  message: unknown = 'login',
): string {
  const exporter = keepRecords();
  const texts: string[] = [];
  for (const to of ['both', 'json', (record: unknown) => void texts.push(JSON.stringify(record))] as const) {
    const sink = sinkOf({
      writeLine: (line) => texts.push(line),
      to,
      redact,
    });
    sink.addTap(PAYMENTS, {
      matches: () => true,
      admits: () => true,
      take: (_, call) => texts.push(JSON.stringify(call)),
    });
    sink.emit(PAYMENTS, message as string, attributes as Record<string, unknown>);
  }
  for (const { body, attributes: own } of exporter.getFinishedLogRecords()) texts.push(JSON.stringify([body, own]));
  logs.disable();
  assert.equal(texts.length, 3 + 3 + 1);
  return texts.join('\n');
}

describe('a value is redacted', () => {
  it('under the usual names, whatever their case and separators, and under names that end in them', () => {
    const names = [
      ...['password', 'passwd', 'secret', 'token', 'authorization', 'cookie', 'set-cookie', 'api_key', 'apikey'],
      ...[
        'x-api-key',
        'private_key',
        'Password',
        'dbPassword',
        'Set-Cookie',
        'X-API-Key',
        'privateKey',
        'access_token',
      ],
      ...['cookies', 'passwords', 'clientSecrets', 'API-Keys', 'tls.passphrase'],
      ...['http.request.header.authorization', 'API KEY', 'client-secret', `${'x'.repeat(1000)}_token`],
      ...['pwd', 'DB_PWD', 'pass', 'smtpPass', 'DB_PASS', 'smtp.pass', 'passphrase', 'jwt', 'userJwt', 'credential'],
      ...['awsCredentials', 'secretKey', 'AWS_SECRET_ACCESS_KEY', 'SECRET_KEY_BASE', 'connectionString'],
      ...['user[password]', 'users[0][pass]', "session['token']", 'password:'],
    ];
    for (const name of names) {
      const text = written({ [name]: SECRET, order: 7 });
      assert.ok(!text.includes(SECRET), name);
      assert.match(text, /\[redacted\]/);
      assert.match(text, /"order":7/);
    }
  });

  it('and not under others', () => {
    for (const name of [
      'tokens',
      'passwordless',
      'secretary',
      'monkey',
      'key',
      'token_count',
      'bypass',
      'encompass',
      'passed',
      'value',
    ]) {
      assert.ok(written({ [name]: SECRET }).includes(SECRET), name);
    }
  });

  it('at any depth and in any shape', () => {
    class Session {
      readonly user = 'alice';
      readonly sessionToken = SECRET;
    }
    const error = Object.assign(new Error('login failed'), { token: SECRET, cause: { password: SECRET } });
    const shapes: object[] = [
      { a: { b: [{ c: { password: SECRET } }] } },
      { password: { nested: [SECRET, { deep: SECRET }] } },
      { map: new Map([['password', SECRET]]) },
      {
        map: new Map<unknown, unknown>([
          [{}, 1],
          ['password', SECRET],
        ]),
      },
      { entries: Object.entries({ password: SECRET }) },
      { request: { rawHeaders: ['Host', 'shop', 'Authorization', SECRET] } },
      { session: new Session() },
      new Session(),
      error,
      { error },
      { query: new URLSearchParams({ token: SECRET, page: '2' }) },
      { wrapped: { toJSON: () => ({ apiKey: SECRET }) } },
      { secret: new Error(SECRET) },
      {
        headers: [
          { name: 'authorization', value: SECRET },
          { key: 'X-Api-Key', value: SECRET },
        ],
      },
      { name: 'Set-Cookie', value: SECRET },
      { header: Object.defineProperty({ value: SECRET }, 'key', { get: () => assert.fail() }) },
      { map: new Map([[Symbol('password'), SECRET]]) },
      { secret: Buffer.from(SECRET), list: [new Set([{ token: SECRET }])] },
      Object.defineProperty({}, 'password', { get: () => SECRET, enumerable: true }),
    ];
    for (const shape of shapes) {
      const text = written(shape);
      assert.ok(!text.includes(SECRET) && !text.includes(Buffer.from(SECRET).toString('base64')), text);
      assert.ok(text.includes('redacted'), text);
    }
  });

  it("also in the header that Node's requests and answers keep as text", (t) => {
    const sent = request({ port: 1, headers: { authorization: SECRET }, method: 'POST' }).on('error', () => {});
    t.after(() => sent.destroy());
    sent.write('body');
    const answer = new ServerResponse({ method: 'GET' } as never);
    answer.writeHead(200, { 'Set-Cookie': `id=${SECRET}` });
    for (const shape of [{ sent }, { a: { b: sent } }, sent, { answer }, answer]) {
      const text = written(shape);
      assert.ok(!text.includes(SECRET), text);
      assert.ok(text.includes('redacted'), text);
      assert.ok(written(shape, false).includes(SECRET));
    }
    assert.match(written({ outputData: 'of a report' }), /of a report/);
  });

  it('also where an object stands for the message', () => {
    assert.ok(!written({}, [], { user: 'alice', password: SECRET }).includes(SECRET));
  });

  it('under the names that are configured as well: exact or with *, whatever their case', () => {
    const redact = ['ssn', 'card.*', '*_pin', 'a*b*c'];
    for (const name of ['ssn', 'SSN', 'card.number', 'door_PIN', 'abc', 'a-b-c', 'password']) {
      assert.ok(!written({ [name]: SECRET }, redact).includes(SECRET), name);
    }
    for (const name of ['ssn2', 'cards', 'pin', 'acb', 'ab']) {
      assert.ok(written({ [name]: SECRET }, redact).includes(SECRET), name);
    }
  });

  it('never under false', () => {
    assert.ok(written({ password: SECRET, a: [{ token: SECRET }] }, false).includes(SECRET));
    assert.ok(written({}, false, `Bearer ${SECRET}`).includes(SECRET));
  });

  it('without taking the category, or leaving something where nothing was', () => {
    const text = written({ password: undefined, a: 1 }, ['*']);
    assert.match(text, /"rdcp\.category\.name":"PAYMENTS"/);
    assert.ok(!text.includes('password'));
  });
});

const JWT = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from(SECRET).toString('base64url')}.c2ln`;
const TICKET = `rdcp_ticket_${`${SECRET}x`.repeat(22).slice(0, 22)}`;
const API_KEY = `rdcp_live_v1_${SECRET.repeat(49).slice(0, 49)}`;
const PEM = `-----BEGIN RSA PRIVATE KEY-----\nMIIB${SECRET}\nAAAA==\n-----END RSA PRIVATE KEY-----`;

describe('a credential that its form tells is masked in texts:', () => {
  const texts: readonly (readonly [text: string, masked: string])[] = [
    [`token=${JWT}; next`, 'token=[redacted]; next'],
    [`"${JWT}"`, '"[redacted]"'],
    [`/callback?id_token%3D${JWT}&page=2`, '/callback?id_token%3D[redacted]&page=2'],
    [`${JWT}.${JWT}`, '[redacted]'],
    [`baggage: rdcp.debug=${TICKET},a=b`, 'baggage: rdcp.debug=[redacted],a=b'],
    [`rdcp.debug%3D${TICKET}`, 'rdcp.debug%3D[redacted]'],
    [`rdcp_rt_4b1c2f0e-9d1a-4a53.${SECRET}.${SECRET}`, '[redacted]'],
    [`key=${API_KEY}`, 'key=[redacted]'],
    [`key ${PEM} done`, 'key [redacted] done'],
    [PEM.replaceAll('RSA ', '').replaceAll('\n', '\\n'), '[redacted]'],
    [PEM.slice(0, 60), '[redacted]'],
    [`Authorization: Bearer ${SECRET}, Host: shop`, 'Authorization: Bearer [redacted], Host: shop'],
    [`authorization=bearer  ${SECRET}==`, 'authorization=bearer [redacted]'],
    [`postgres://app:${SECRET}@db:5432/shop`, 'postgres://[redacted]@db:5432/shop'],
    [`postgres://app:${SECRET}@${SECRET}@db/shop`, 'postgres://[redacted]@db/shop'],
    [`clone https://${SECRET}@git.example/a.git`, 'clone https://[redacted]@git.example/a.git'],
    ['a://b@c', 'a://[redacted]@c'],
  ];
  for (const [text, masked] of texts) {
    it(masked, () => {
      const inMessage = written({ order: 7 }, [], text);
      const inAttributes = written({ text, list: [{ text }], error: new Error(text) });
      for (const out of [inMessage, inAttributes]) {
        assert.ok(!out.includes(SECRET) && !out.includes(JWT), out);
        assert.ok(out.includes(JSON.stringify(masked).slice(1, -1)), out);
      }
      assert.ok(!written({ text }).includes(SECRET), 'a short text alone');
      assert.ok(!written({}, [], new Error(text)).includes(SECRET), 'an error for a message');
      const thrown = written(() => {
        throw new Error(text);
      });
      assert.ok(!thrown.includes(SECRET) && !thrown.includes(JWT), thrown);
    });
  }

  it('not in texts that only look like one', () => {
    const harmless = [
      'the bearer token expired',
      'Bearer authentication failed',
      'WWW-Authenticate: Bearer realm="shop"',
      'http://localhost:4873/@scope/pkg?mail=a@b.example#c@d',
      'from https://a.example to ops@b.example',
      'rdcp_ticket_refused_total and rdcp_debug_calls_total, rdcp_ticket_',
      'eyJ is how they begin, keyJournal.read.write.all',
      '-----BEGIN PUBLIC KEY-----',
    ];
    for (const text of harmless) assert.ok(written({ text }, [], text).includes(JSON.stringify(text)), text);
  });

  it('also where a long text is cut in the middle of one, and behind it', () => {
    const head = 'x'.repeat(8150);
    for (const text of [`${head} ${JWT}`, `${head}\n${PEM}`, `${PEM.slice(0, 60)}${'A'.repeat(100_000)}`]) {
      const out = written({ text }, [], text);
      assert.ok(!out.includes(SECRET) && !out.includes(JWT.slice(0, 30)), out.slice(-300));
      assert.match(out, /cut from \d+ characters/);
    }
  });
});

test('a text takes time by its length, whatever it is', () => {
  const { mask } = createRedaction([]);
  const parts = [
    'eyJ',
    'eyJa.',
    '%41eyJ',
    '://',
    '://a',
    'Bearer ',
    'bearer\t',
    '-----BEGIN ',
    '-----BEGIN A PRIVATE KEY-----',
    'A ',
  ];
  const started = process.cpuUsage().user;
  for (const part of parts)
    for (const after of ['', '@', '-----END ', ' '.repeat(5000)]) mask(part.repeat(4000) + after);
  assert.ok(process.cpuUsage().user - started < 20_000_000);
});

test('a pattern is no regular expression, and takes no time whatever it is', () => {
  const { hides } = createRedaction(['(a+)+$', '*a*a*a*a*a*a*a*a*a*b']);
  const started = process.cpuUsage().user;
  assert.equal(hides('a'.repeat(100_000)), false);
  assert.equal(hides('(a+)+$'), true);
  assert.ok(process.cpuUsage().user - started < 500_000);
});

test('no value under a redacted name is in any output, whatever shape the attributes have', () => {
  const name = fc.constantFrom('password', 'Token', 'x-api-key', 'userSecret', 'Set-Cookie', 'privateKey', 'db.passwd');
  const hidden = fc.oneof(
    fc.constant(SECRET),
    fc.constant([SECRET]),
    fc.constant({ a: SECRET, b: new Map([[SECRET, SECRET]]) }),
    fc.constant(new Error(SECRET)),
  );
  const { tree } = fc.letrec<{ tree: unknown; node: unknown }>((tie) => ({
    tree: fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.jsonValue(), tie('node')),
    node: fc.oneof(
      fc
        .tuple(name, hidden, fc.string(), tie('tree'))
        .map(([at, value, key, other]) => ({ [at]: value, [key]: other })),
      fc.tuple(name, hidden, tie('tree')).map(
        ([at, value, other]) =>
          new Map<unknown, unknown>([
            [at, value],
            ['o', other],
          ]),
      ),
      fc.tuple(name, hidden, tie('tree')).map(
        ([at, value, other]) =>
          new Map<unknown, unknown>([
            [at, value],
            [{}, other],
          ]),
      ),
      fc.tuple(name, hidden, tie('tree')).map(([at, value, other]) => [[at, value], other]),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc
        .tuple(name, hidden)
        .map(([at, value]) => Object.assign(new Error('e'), { [at]: String(value), cause: { [at]: value } })),
    ),
  }));
  const form = fc.constantFrom(`Bearer ${SECRET}`, `amqp://u:${SECRET}@queue`, `${JWT} ${PEM}`);
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), tree),
      name,
      hidden,
      form,
      fc.string(),
      (attributes, at, value, text, key) => {
        assert.ok(!written({ ...attributes, [at]: value, [key]: text }, [], `${key} ${text}`).includes(SECRET));
      },
    ),
    { numRuns: 200 },
  );
});

for (const redact of [true, 'password', [7], [''], [[]]]) {
  test(`emit.redact is refused at the start as ${JSON.stringify(redact)}`, () => {
    assert.throws(() => parseConfig({ emit: { redact } }), /^RdcpError: configuration: emit\.redact/);
  });
}

test('a pattern needs all its parts, in their order, and is answered alike after thousands of other names', () => {
  const { hides } = createRedaction(['card*number*raw']);
  const answers = () =>
    ['card-number-raw', 'cardnumberraw', 'card-raw', 'card-number', 'number-card-raw', 'my-card-number-raw'].map(hides);
  const before = answers();
  assert.deepEqual(before, [true, true, false, false, false, false]);
  for (let name = 0; name < 5000; name++) assert.equal(hides(`field${name}`), false);
  assert.deepEqual(answers(), before);
});
