import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fleet } from '../../src/control/fleet/fleet.ts';
import type { ControlOutcome } from '../../src/control/types.ts';
import { acknowledged } from '../../src/endpoint/routes/control.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { CONSOLE_PATHS, PATHS, RDCP_MEDIA_TYPE } from '../../src/wire/constants.ts';
import { duplicateMember } from '../../src/wire/json-text.ts';
import type { ControlResponse, StatusResponse } from '../../src/wire/messages.ts';
import fc from '../support/fast-check.ts';
import { startServer, type TestRequest, type TestServer, withMembers } from '../support/server.ts';

const enable = (more: Partial<TestRequest> = {}): TestRequest => ({
  method: 'POST',
  key: 'operator',
  body: { action: 'enable', categories: ['DATABASE'] },
  ...more,
});

async function statesOf(server: TestServer): Promise<Readonly<Record<string, boolean>>> {
  return (await server.request<StatusResponse>(PATHS.status, { key: 'operator' })).body.categories;
}

test('a body may be of the registered media type, name its charset, and hold more than ASCII', async (t) => {
  const server = await startServer(t);
  const reason = 'Störung 🔥 an der Kasse';
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    RDCP_MEDIA_TYPE,
    `${RDCP_MEDIA_TYPE}; charset=UTF-8`,
  ]) {
    const body = { action: 'enable', categories: 'HTTP', options: { reason } };
    const { status } = await server.request(PATHS.control, enable({ body, headers: { 'Content-Type': type } }));
    assert.equal(status, 200, type);
  }
  const { body } = await server.request<AuditResponse>(PATHS.audit, { key: 'admin' });
  assert.deepEqual(new Set(body.entries.map((entry) => entry.reason)), new Set([reason]));
});

test('an unknown category changes nothing, not even the known ones', async (t) => {
  const server = await startServer(t);
  const body = { action: 'enable', categories: ['DATABASE', 'NO_SUCH'] };
  const answer = await server.request(PATHS.control, enable({ body }));
  assert.equal(answer.status, 404);
  assert.equal(answer.body.error.code, 'RDCP_CATEGORY_NOT_FOUND');
  assert.deepEqual(answer.body.error.details?.unknown, ['NO_SUCH']);
  assert.equal((await statesOf(server)).DATABASE, false);
  assert.deepEqual(server.controlRequests, [['enable', 'denied']]);
});

for (const given of ['op-1', undefined]) {
  const whose =
    given === undefined ? 'without an id is answered once for the id of its answer' : 'is answered once for its id';
  test(`a request ${whose}, and its repeat byte for byte the same`, async (t) => {
    const server = await startServer(t);
    const toggle = (id?: string) =>
      enable({
        body: { action: 'toggle', categories: 'DATABASE' },
        ...(id !== undefined && { headers: { 'X-RDCP-Request-ID': id } }),
      });
    const first = await server.request(PATHS.control, toggle(given));
    const id = first.headers.get('x-rdcp-request-id') ?? '';
    const again = await server.request(PATHS.control, toggle(id));
    assert.equal(first.headers.get('x-rdcp-replayed'), null);
    assert.equal(again.headers.get('x-rdcp-replayed'), 'true');
    assert.equal(again.headers.get('x-rdcp-request-id'), given ?? id);
    assert.equal(again.text, first.text);
    assert.equal((await statesOf(server)).DATABASE, true);
  });
}

test('the same fields in another order or spelling are the same request, other fields are not', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-RDCP-Request-ID': 'op-2' };
  const send = (body: string) => server.request(PATHS.control, enable({ headers, body }));
  const of = (options: string) => `{"action":"enable","categories":["HTTP"],"options":${options}}`;
  await send(of('{"duration":"15m","otelrdcp_target":{"match":{"user.id":"42","url.path":"/a"}}}'));
  const same =
    await send(`{ "options": {"otelrdcp_target": {"match": {"url.path": "/a", "user.id": "42"}}, "duration": 900,
    "otelrdcp_dryRun": false}, "categories": "HTTP", "protocol": "rdcp/1.0", "action": "enable" }`);
  assert.equal(same.headers.get('x-rdcp-replayed'), 'true', same.text);
  const others = [
    '{"action":"disable","categories":["HTTP"]}',
    of('{"duration":"15m","otelrdcp_target":{"match":{"user.id":"42"}}}'),
    of('{"duration":"15m","otelrdcp_target":{"match":{"user.id":"42","url.path":"/a"}},"otelrdcp_level":"info"}'),
  ];
  for (const body of others) {
    const other = await send(body);
    assert.deepEqual([other.status, other.body.error?.code], [422, 'RDCP_REQUEST_ID_REUSED'], body);
  }
});

test('a request id belongs to the identity that used it', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-RDCP-Request-ID': 'op-3' };
  await server.request(PATHS.control, enable({ headers }));
  const other = await server.request(PATHS.control, enable({ headers, key: 'admin' }));
  assert.equal(other.status, 200);
  assert.equal(other.headers.get('x-rdcp-replayed'), null);
});

test('a Date header up to five minutes off is accepted, one further off is refused as clock skew', async (t) => {
  const server = await startServer(t);
  const at = (milliseconds: number) => ({ Date: new Date(Date.now() + milliseconds).toUTCString() });
  for (const offset of [0, -290_000, 290_000]) {
    assert.equal((await server.request(PATHS.control, enable({ headers: at(offset) }))).status, 200);
  }
  for (const offset of [-310_000, 310_000, -86_400_000]) {
    const { status, body } = await server.request(PATHS.control, enable({ headers: at(offset) }));
    assert.equal(status, 400);
    assert.equal(body.error.code, 'RDCP_MALFORMED_REQUEST');
    assert.equal(body.error.details?.reason, 'clock_skew');
  }
  assert.equal((await server.request(PATHS.control, enable({ headers: { Date: 'soon' } }))).status, 400);
});

test('a change that takes too long is answered 504, goes on, and a retry with the same request id shows it', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const server = await startServer(t, {
    config: { limits: { requestTimeoutSeconds: 3 } },
    wrap: ({ plane }) => ({
      plane: withMembers(plane, {
        control: async (request, context) => {
          const outcome = await plane.control(request, context);
          await released;
          return outcome;
        },
      }),
    }),
  });
  const request = enable({ headers: { 'X-RDCP-Request-ID': 'slow-1' } });
  const { status, body } = await server.request(PATHS.control, request);
  assert.equal(status, 504);
  assert.equal(body.error.code, 'RDCP_TIMEOUT');
  release();
  const again = await server.request<ControlResponse>(PATHS.control, request);
  assert.equal(again.status, 200);
  assert.equal(again.headers.get('x-rdcp-replayed'), 'true');
  assert.equal(again.body.changes[0]?.newState, true);
  assert.deepEqual(server.reports, []);
});

const NO_CHOICE = { chosen: () => [] };
const switched = { response: { status: 'success', message: 'DATABASE is on' }, position: undefined } as never;
const answer = async (summary: unknown, given: ControlOutcome = switched) => {
  const { status, message } = await acknowledged(
    given,
    { acknowledged: async () => summary } as never as Fleet,
    NO_CHOICE,
  );
  return `${status}: ${message}`;
};

test('a change is partial until every process has applied it, and names how many have not', async () => {
  const [a, b] = ['2026-11-28T10:00:07.000Z', '2026-11-28T10:00:05.000Z'];
  const cases = [
    [[], {}, 'success: DATABASE is on'],
    [['a'], {}, 'partial: DATABASE is on; 1 of 3 processes has not applied it yet'],
    [['a', 'b'], {}, 'partial: DATABASE is on; 2 of 3 processes have not applied it yet'],
    [['a'], { a }, 'partial: DATABASE is on; 1 of 3 processes has not been heard of since 10:00:07 UTC'],
    [['a', 'b'], { a, b }, 'partial: DATABASE is on; 2 of 3 processes have not been heard of since 10:00:05 UTC'],
    [
      ['a', 'b', 'c'],
      { a, b },
      'partial: DATABASE is on; 1 of 3 processes has not applied it yet, 2 of 3 processes have not been heard of since 10:00:05 UTC',
    ],
  ] as const;
  for (const [pending, lastSeen, expected] of cases) {
    assert.equal(await answer({ instances: 3, applied: 3 - pending.length, pending, lastSeen }), expected);
  }
});

test('while the store is away a change is partial, because it is unknown which process has it', async () => {
  assert.match(await answer(undefined), /^partial: DATABASE is on; who has applied it is not known/);
});

const TWICE: readonly (readonly [path: string, field: string, body: string])[] = [
  [PATHS.control, 'action', '{"action":"status","action":"reset"}'],
  [PATHS.control, 'action', '{"action":"enable","categories":"HTTP","\\u0061ction":"disable"}'],
  [PATHS.control, 'reason', '{"action":"enable","categories":"HTTP","options":{"reason":"ä","reason":"b"}}'],
  [
    PATHS.control,
    'calls',
    '{"action":"enable","categories":"HTTP","options":{"otelrdcp_budget":{"calls":1,"calls":9}}}',
  ],
  [PATHS.forecast, 'duration', '{"categories":"HTTP","duration":1,"duration":60}'],
  [CONSOLE_PATHS.session, 'code', '{"code":"a","code":"b"}'],
];

test('a body that names a member twice is refused, and changes nothing', async (t) => {
  const server = await startServer(t, { config: { console: true } });
  for (const [path, field, body] of TWICE) {
    const answer = await server.request(path, { method: 'POST', key: 'admin', body });
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'RDCP_MALFORMED_REQUEST'], body);
    assert.match(answer.body.error.message, new RegExp(`^${field} appears twice in one object`));
    assert.deepEqual(answer.body.error.details, { field });
  }
  assert.equal(server.gate.category('HTTP').enabled, false);
});

test('of any JSON, exactly a text with a member added a second time has a duplicate', () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { minKeys: 1 });
  fc.assert(
    fc.property(object, fc.nat(), (value, index) => {
      const spaced = JSON.stringify(value, null, 1);
      assert.equal(duplicateMember(spaced), undefined);
      const names = Object.keys(value);
      const name = names[index % names.length]!;
      const text = `${spaced.slice(0, -1)},${JSON.stringify(name)}:[]}`;
      assert.equal(duplicateMember(text), name);
    }),
  );
});
