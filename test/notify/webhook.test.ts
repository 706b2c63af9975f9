import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from '../../src/trail/notify/webhook.ts';
import { SettingFault } from '../../src/wire/errors.ts';
import type { Answer, OutgoingRequest } from '../../src/wire/net/request.ts';
import { recordConditions } from '../support/conditions.ts';
import { virtualTime } from '../support/virtual-time.ts';

const SECOND = 1000;

interface Reply {
  readonly status: number;
  readonly retryAfter?: string | undefined;
}

/** A webhook whose receiver answers as `answer` says, on a clock that is moved by hand. */
function bench(answer: (request: OutgoingRequest) => Reply | Promise<Reply>, random = () => 1) {
  const time = virtualTime();
  const conditions = recordConditions();
  const sent: { readonly id: string; readonly at: number; readonly timestamp: string }[] = [];
  const dropped: string[] = [];
  const warnings: string[] = [];
  let delivered = 0;
  const start = time.clock.now();
  const webhook = new Webhook({
    url: 'https://hooks.example/services/T0/secret',
    keys: [Buffer.alloc(24, 7)],
    send: async (request): Promise<Omit<Answer, 'text'>> => {
      const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '' } = request.headers;
      sent.push({ id, at: (time.clock.now() - start) / SECOND, timestamp });
      const { status, retryAfter } = await answer(request);
      return { status, headers: { 'retry-after': retryAfter } };
    },
    clock: time.clock,
    delay: time.delay,
    random,
    condition: conditions.watch('notify'),
    reporter: { warn: (message) => void warnings.push(message) },
    delivered: () => {
      delivered += 1;
    },
    lossBody: (loss) => JSON.stringify(loss),
    randomUUID: () => 'loss',
    dropped: (reason) => void dropped.push(reason),
  });
  /** Lets what was added be sent, then time pass. */
  const pass = async (milliseconds: number) => {
    await time.pass(0);
    await time.pass(milliseconds);
  };
  const ids = () => sent.map(({ id }) => id);
  return { webhook, pass, sent, ids, dropped, warnings, lines: conditions.lines, delivered: () => delivered };
}

/** Rejects when the request is given up, as a real one does. */
const hanging = ({ signal }: OutgoingRequest) =>
  new Promise<Reply>((_, reject) =>
    signal.addEventListener('abort', () => reject(new SettingFault('does not answer in time'))),
  );

test('events arrive one at a time, in order', async () => {
  let open = 0;
  let most = 0;
  const { webhook, pass, ids, delivered } = bench(async () => {
    most = Math.max(most, ++open);
    await new Promise(setImmediate);
    open -= 1;
    return { status: 200 };
  });
  for (const id of ['a', 'b', 'c']) webhook.add(id, '{}', 'change');
  await pass(0);
  await pass(0);
  assert.deepEqual([ids(), most, delivered()], [['a', 'b', 'c'], 1, 3]);
});

test('nothing is sent in the turn of the event loop that adds an event', async () => {
  const { webhook, pass, sent } = bench(() => ({ status: 200 }));
  webhook.add('a', '{}', 'change');
  await Promise.resolve();
  assert.equal(sent.length, 0);
  await pass(0);
  assert.equal(sent.length, 1);
});

test('an event that failed is sent again under the same id, with a new time, at growing pauses', async () => {
  const { webhook, pass, sent } = bench(() => ({ status: 500 }));
  webhook.add('a', '{}', 'change');
  await pass(20 * 60 * SECOND);
  assert.deepEqual(
    sent.map(({ at }) => at),
    [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111],
    'doubled up to five minutes',
  );
  assert.ok(sent.every(({ id }) => id === 'a'));
  assert.equal(new Set(sent.map(({ timestamp }) => timestamp)).size, sent.length);
});

test('jitter shortens a pause by up to half', async () => {
  const { webhook, pass, sent } = bench(
    () => ({ status: 500 }),
    () => 0,
  );
  webhook.add('a', '{}', 'change');
  await pass(3.5 * SECOND);
  assert.deepEqual(
    sent.map(({ at }) => at),
    [0, 0.5, 1.5, 3.5],
  );
});

for (const [what, answers, times] of [
  ['seconds and dates, up to five minutes', ['120', 'Thu, 01 Jan 2026 00:05:00 GMT', '999999'], [0, 120, 300, 600]],
  [
    'many digits, which are five minutes, and nonsense, which is none',
    ['9'.repeat(12), 'soon', '-5', '1e3', '', ' 7', '5.5', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    [0, 300, 302, 306, 314, 330, 362, 426],
  ],
] as const) {
  test(`Retry-After is honoured: ${what}`, async () => {
    const left = [...answers];
    const { webhook, pass, sent } = bench(() => ({ status: 429, retryAfter: left.shift() }));
    webhook.add('a', '{}', 'change');
    await pass(601 * SECOND);
    assert.deepEqual(sent.map(({ at }) => at).slice(0, times.length), times);
  });
}

test('only 2xx counts as delivered; every other answer is sent again under the same id', async () => {
  for (const status of [200, 201, 204, 299]) {
    const { webhook, pass, sent, delivered } = bench(() => ({ status }));
    webhook.add('a', '{}', 'change');
    await pass(60 * SECOND);
    assert.deepEqual([sent.length, delivered()], [1, 1], String(status));
  }
  for (const status of [0, 101, 199, 300, 301, 302, 307, 308, 400, 401, 404, 408, 425, 429, 500, 502, 599]) {
    const { webhook, pass, ids, delivered } = bench(() => ({ status }));
    webhook.add('a', '{}', 'change');
    await pass(3 * SECOND);
    assert.deepEqual([ids(), delivered()], [['a', 'a', 'a'], 0], String(status));
  }
});

test('one failure alone is no condition, two are, until everything that waited is delivered', async () => {
  const statuses = [500, 200, 503, 503, 200, 200];
  const { webhook, pass, lines } = bench(() => ({ status: statuses.shift() ?? 0 }));
  webhook.add('a', '{}', 'change');
  await pass(1 * SECOND);
  assert.deepEqual(lines, []);
  webhook.add('b', '{}', 'change');
  webhook.add('c', '{}', 'change');
  await pass(5 * SECOND);
  assert.deepEqual(lines, ['notifications to hooks.example fail: it answers with status 503', 'notify is over']);
});

for (const [statuses, isLasting] of [
  [[400, 401, 403, 404, 409, 413, 422, 499], true],
  [[408, 425, 429, 500, 503], false],
] as const) {
  test(`${statuses.join(', ')} to an event: ${isLasting ? 'five attempts, then the next event' : 'it is sent until it is taken'}`, async () => {
    for (const status of statuses) {
      let isRefused = true;
      const { webhook, pass, ids, dropped, delivered } = bench(({ headers }) => ({
        status: isRefused && headers['webhook-id'] === 'first' ? status : 200,
      }));
      webhook.add('first', '{}', 'change');
      webhook.add('second', '{}', 'change');
      await pass(600 * SECOND);
      const attempts = ids().filter((id) => id === 'first').length;
      assert.deepEqual(isLasting ? attempts : attempts > 6, isLasting ? 5 : true, String(status));
      isRefused = false;
      await pass(300 * SECOND);
      assert.deepEqual([delivered(), dropped], isLasting ? [1, ['refused']] : [2, []], String(status));
    }
  });
}

test('410 ends it: nothing is sent any more, and all of it is counted and reported', async () => {
  const { webhook, pass, sent, dropped, lines } = bench(() => ({ status: 410 }));
  webhook.add('a', '{}', 'change');
  webhook.add('b', '{}', 'change');
  await pass(0);
  webhook.add('c', '{}', 'change');
  await pass(3600 * SECOND);
  assert.equal(sent.length, 1);
  assert.deepEqual(dropped, ['gone', 'gone', 'gone']);
  assert.deepEqual(lines, ['notifications to hooks.example have ended: it answers with status 410']);
});

test('at most 1,000 events wait, and the oldest are dropped', async () => {
  let status = 500;
  const { webhook, pass, ids, dropped, lines } = bench(() => ({ status }));
  webhook.add('first', '{}', 'change');
  await pass(1 * SECOND);
  for (let n = 1; n <= 1010; n++) webhook.add(`e${n}`, '{}', 'change');
  assert.equal(dropped.length, 11);
  status = 200;
  await pass(60 * SECOND);
  assert.equal(ids().length, 2 + 1 + 1000);
  assert.deepEqual(ids().slice(2, 4), ['loss', 'e11']);
  assert.deepEqual(new Set(dropped), new Set(['queue_full']));
  assert.equal(lines.at(-1), 'notify is over');
});

test('what waits is measured in bytes, and an event larger than all of it is dropped alone', async () => {
  const { webhook, pass, dropped, ids } = bench(() => ({ status: 500 }));
  webhook.add('small', '{}', 'change');
  for (let n = 0; n < 8; n++) webhook.add(`wide${n}`, '\u{65e5}'.repeat(64 * 1024), 'change');
  assert.deepEqual(
    dropped,
    ['queue_full', 'queue_full', 'queue_full', 'queue_full'],
    'the small one and three of 192 KiB',
  );
  webhook.add('huge', 'x'.repeat(1024 * 1024 + 1), 'change');
  assert.equal(dropped.length, 4 + 6);
  webhook.add('next', '{}', 'change');
  await pass(0);
  assert.deepEqual(ids(), ['loss']);
});

test('a receiver that hangs gets one request at a time, each given up after ten seconds', async () => {
  const { webhook, pass, sent, lines } = bench(hanging);
  for (let n = 0; n < 100; n++) webhook.add(`e${n}`, '{}', 'change');
  await pass(22 * SECOND);
  assert.deepEqual(
    sent.map(({ at, id }) => [at, id]),
    [
      [0, 'e0'],
      [11, 'e0'],
    ],
  );
  assert.deepEqual(lines, ['notifications to hooks.example fail: it does not answer in time']);
});

test('the close sends what waits at once, also in a pause', async () => {
  const statuses = [500, 200, 200];
  const { webhook, pass, ids, warnings } = bench(() => ({ status: statuses.shift() ?? 0 }));
  webhook.add('a', '{}', 'change');
  webhook.add('b', '{}', 'change');
  await pass(0);
  await webhook.close();
  assert.deepEqual([ids(), warnings], [['a', 'a', 'b'], []]);
});

test('a close in a pause tries once more, and reports what is left; nothing is sent afterwards', async () => {
  for (const reply of [{ status: 500 }, { status: 429, retryAfter: '3600' }, { status: 307 }]) {
    const { webhook, pass, ids, dropped, warnings } = bench(() => reply);
    for (const id of ['a', 'b', 'c']) webhook.add(id, '{}', 'change');
    await pass(0);
    await webhook.close();
    webhook.add('d', '{}', 'change');
    await pass(0);
    assert.deepEqual([ids(), dropped], [['a', 'a'], Array(4).fill('closed')]);
    assert.deepEqual(warnings, ['3 notifications to hooks.example were not delivered before the close']);
  }
});

test('a close ends with a receiver that hangs', async () => {
  const { webhook, pass, ids, dropped, warnings } = bench(hanging);
  webhook.add('a', '{}', 'change');
  await pass(0);
  await webhook.close();
  assert.deepEqual([ids(), dropped, warnings.length], [['a'], ['closed'], 1]);
});

test('a long pause that the receiver asks for is reported at once, and so is a full queue; the loss is sent as a count', async () => {
  const answers: Reply[] = [{ status: 503, retryAfter: '3600' }];
  const bodies: string[] = [];
  const { webhook, pass, lines, dropped, delivered, ids } = bench(({ body = '' }) => {
    bodies.push(body);
    return answers.shift() ?? { status: 200 };
  });
  webhook.add('first', '{}', 'change');
  await pass(0);
  const asked = 'it answers with status 503 and asks to wait 300 s';
  assert.deepEqual(lines, [`notifications to hooks.example fail: ${asked}`]);
  for (let n = 1; n <= 1500; n++) webhook.add(`e${n}`, '{}', 'change');
  assert.deepEqual(lines.slice(1), [`notifications to hooks.example are dropped, because too many wait: ${asked}`]);
  const { status, waiting, dropped: lost, nextAttemptAt, deliveries } = webhook.state;
  assert.deepEqual([status, waiting, lost, nextAttemptAt !== undefined], ['failing', 1000, 501, true]);
  assert.deepEqual(
    deliveries.map(({ id, outcome, attempts, problem }) => [id, outcome, attempts, problem]),
    [['first', 'failed', 1, 'it answers with status 503']],
  );
  await pass(301 * SECOND);
  assert.deepEqual(JSON.parse(bodies[1] as string).count, 501);
  assert.equal(ids()[2], 'e501');
  assert.deepEqual([dropped.length, delivered()], [501, 1000]);
  assert.deepEqual(lines.slice(2), ['notify is over']);
  assert.deepEqual([webhook.state.status, webhook.state.waiting, webhook.state.deliveries.length], ['ok', 0, 20]);
  assert.equal(webhook.state.deliveries[0]?.id, 'e1500');
});

test('the count of what was dropped is dropped in turn only with a newer count that includes it', async () => {
  const bodies: string[] = [];
  let status = 500;
  const { webhook, pass } = bench(({ body = '' }) => {
    bodies.push(body);
    return { status };
  });
  for (let n = 1; n <= 1010; n++) webhook.add(`e${n}`, '{}', 'change');
  await pass(0);
  assert.equal(JSON.parse(bodies[0] as string).count, 10);
  for (let n = 1; n <= 10; n++) webhook.add(`f${n}`, '{}', 'change');
  status = 200;
  await pass(60 * SECOND);
  const counts = bodies.map((body) => JSON.parse(body).count).filter((count) => count !== undefined);
  assert.deepEqual(counts, [10, 20]);
});
