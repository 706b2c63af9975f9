import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { Webhook as Receiver } from 'standardwebhooks';
import { keyOfSecret, Webhook } from '../../src/trail/notify/webhook.ts';
import { send } from '../../src/wire/net/request.ts';
import { unrefTimeout } from '../../src/wire/time/clock.ts';
import { recordConditions } from '../support/conditions.ts';
import { openReceiver } from './receiver.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A webhook with everything real: sockets, timers, the clock. */
function webhookTo(url: string) {
  const warnings: string[] = [];
  const dropped: string[] = [];
  const conditions = recordConditions();
  const webhook = new Webhook({
    url,
    keys: [keyOfSecret(SECRET) as Buffer],
    send,
    clock: { now: () => Date.now() },
    delay: unrefTimeout,
    random: () => 1,
    condition: conditions.watch('notify'),
    reporter: { warn: (line) => void warnings.push(line) },
    delivered: () => undefined,
    lossBody: (loss) => JSON.stringify(loss),
    randomUUID: () => 'loss',
    dropped: (reason) => void dropped.push(reason),
  });
  return { webhook, warnings, dropped, conditions };
}

describe('a real receiver', { concurrency: true }, () => {
  for (const [what, answer] of Object.entries<(response: ServerResponse) => void>({
    'answers 500': (response) => void response.writeHead(500).end(),
    'asks to come back in an hour': (response) => void response.writeHead(429, { 'Retry-After': '3600' }).end(),
    redirects: (response) => void response.writeHead(307, { Location: '/elsewhere' }).end(),
    'resets the connection': (response) => void response.socket?.resetAndDestroy(),
    'hangs up without an answer': (response) => void response.socket?.end(),
  })) {
    test(`a retry waits for a receiver that ${what}: the close tries once more, and reports what is left`, async (t) => {
      const receiver = await openReceiver(t, answer);
      const { webhook, warnings, dropped } = webhookTo(receiver.url);
      for (const id of ['a', 'b', 'c']) webhook.add(id, '{}', 'change');
      await receiver.arrived(1);
      await webhook.close();
      const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
      assert.ok(ids.length <= 2 && ids.every((id) => id === 'a'), `${ids}`);
      assert.deepEqual(dropped, ['closed', 'closed', 'closed']);
      const host = new URL(receiver.url).host;
      assert.deepEqual(warnings, [`3 notifications to ${host} were not delivered before the close`]);
    });
  }

  test('a close ends with a receiver that hangs, and sends nothing afterwards', async (t) => {
    const receiver = await openReceiver(t, () => undefined);
    const { webhook, warnings, dropped } = webhookTo(receiver.url);
    webhook.add('a', '{}', 'change');
    await receiver.arrived(1);
    await webhook.close();
    webhook.add('b', '{}', 'change');
    await webhook.close();
    assert.deepEqual([receiver.received.length, dropped, warnings.length], [1, ['closed', 'closed'], 1]);
  });

  test('what a slow receiver takes in time arrives in order, each with a signature that its library accepts', async (t) => {
    const receiver = await openReceiver(t, (response) => {
      response.writeHead(200);
      // An answer that is as large as it likes.
      setTimeout(() => response.end(Buffer.alloc(1024 * 1024)), 20);
    });
    const { webhook, warnings, dropped } = webhookTo(receiver.url);
    const bodies = ['first', 'second', 'third'].map((text) => JSON.stringify({ text, sign: 'é ✓' }));
    for (const [index, body] of bodies.entries()) webhook.add(`id-${index}`, body, 'change');
    await webhook.close();
    const library = new Receiver(SECRET as `whsec_${string}`);
    const read = receiver.received.map(({ body, headers }) => library.verify(body, headers as Record<string, string>));
    assert.deepEqual(
      read,
      bodies.map((body) => JSON.parse(body)),
    );
    assert.deepEqual([warnings, dropped], [[], []]);
  });
});
