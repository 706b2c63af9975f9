// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { request, ServerResponse } from 'node:http';
import { describe, it, test } from 'node:test';
import { logs } from '@opentelemetry/api';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import fc from 'fast-check';
import { parseConfig } from '../../src/config.ts';
import { createRedaction } from '../../src/emit/redaction.ts';
import { createSink } from '../../src/emit/sink.ts';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import { createTelemetry } from '../../src/telemetry.ts';

const PAYMENTS: CategoryDescriptor = { index: 0, name: 'PAYMENTS', description: '', defaultEnabled: false };
const SECRET = 'hunter2-hunter2';

/** Everything that comes out of one call, on every output and a tap, as one text. */
function written(attributes: object, redact: readonly string[] | false = [], message: unknown = 'login'): string {
  const exporter = new InMemoryLogRecordExporter();
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] }));
  const texts: string[] = [];
  for (const to of ['both', 'json', (record: unknown) => void texts.push(JSON.stringify(record))] as const) {
    const sink = createSink({
      telemetry: createTelemetry(),
      clock: { now: () => 0 },
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
    ];
    for (const name of names) {
      const text = written({ [name]: SECRET, order: 7 });
      assert.ok(!text.includes(SECRET), name);
      assert.match(text, /\[redacted\]/);
      assert.match(text, /"order":7/);
    }
  });

  it('and not under others', () => {
    for (const name of ['tokens', 'passwordless', 'secretary', 'monkey', 'key', 'token_count']) {
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
          [new String('token'), SECRET],
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
  });

  it('without taking the category, or leaving something where nothing was', () => {
    const text = written({ password: undefined, a: 1 }, ['*']);
    assert.match(text, /"rdcp\.category\.name":"PAYMENTS"/);
    assert.ok(!text.includes('password'));
  });
});

test('a pattern is no regular expression, and takes no time whatever it is', () => {
  const redacts = createRedaction(['(a+)+$', '*a*a*a*a*a*a*a*a*a*b']);
  const started = process.cpuUsage().user;
  assert.equal(redacts('a'.repeat(100_000)), false);
  assert.equal(redacts('(a+)+$'), true);
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
  fc.assert(
    fc.property(fc.dictionary(fc.string(), tree), name, hidden, (attributes, at, value) => {
      assert.ok(!written({ ...attributes, [at]: value }).includes(SECRET));
    }),
    { numRuns: 200 },
  );
});

for (const redact of [true, 'password', [7], [''], [[]]]) {
  test(`emit.redact is refused at the start as ${JSON.stringify(redact)}`, () => {
    assert.throws(() => parseConfig({ emit: { redact } }), /^RdcpError: configuration: emit\.redact/);
  });
}

test('a pattern needs all its parts, in their order, and is answered alike after thousands of other names', () => {
  const redacts = createRedaction(['card*number*raw']);
  const answers = () =>
    ['card-number-raw', 'cardnumberraw', 'card-raw', 'card-number', 'number-card-raw', 'my-card-number-raw'].map(
      redacts,
    );
  const before = answers();
  assert.deepEqual(before, [true, true, false, false, false, false]);
  for (let name = 0; name < 5000; name++) assert.equal(redacts(`field${name}`), false);
  assert.deepEqual(answers(), before);
});
