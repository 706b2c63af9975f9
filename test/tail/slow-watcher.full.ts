import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HEADERS, PATHS } from '../../src/wire/constants.ts';
import type { StateEvent } from '../../src/wire/streams.ts';
import { clientOf, KEYS, startServer } from '../support/server.ts';

/** The first event of a stream, whatever it is. */
async function first(events: AsyncIterable<StateEvent>): Promise<StateEvent> {
  for await (const event of events) return event;
  return assert.fail('the stream ended');
}

test('a watcher that reads nothing gets a snapshot of what it missed, and holds up no other', async (t) => {
  const server = await startServer(t, {
    config: {
      categories: Object.fromEntries(
        Array.from({ length: 2000 }, (_, index) => [`C${index}`, { description: 'd'.repeat(900) }]),
      ),
    },
  });
  const response = await fetch(`${server.url}${PATHS.events}`, { headers: { [HEADERS.apiKey]: KEYS.operator } });
  const client = clientOf(server, 'operator');
  for (const action of ['enable', 'disable', 'enable'] as const) {
    await client[action](Array.from({ length: 400 }, (_, index) => `C${index}`));
    // Longer than an interval in which changes are noticed.
    await sleep(150);
  }
  assert.equal((await first(client.events())).event, 'snapshot');
  // What the reader finds at last is the state of the end, however much was left out.
  let text = '';
  const decoder = new TextDecoder();
  const deadline = performance.now() + 60_000;
  for await (const chunk of response.body ?? assert.fail()) {
    text += decoder.decode(chunk, { stream: true });
    if (
      text.split('event: snapshot').length > 2 &&
      /event: rates/.test(text.slice(text.lastIndexOf('event: snapshot')))
    )
      break;
    assert.ok(performance.now() < deadline, 'a second snapshot comes');
  }
  const last =
    /event: snapshot\nid: \d+\ndata: (.*)\n\n/.exec(text.slice(text.lastIndexOf('event: snapshot')))?.[1] ?? '';
  const { categories } = JSON.parse(last) as { categories: { name: string; enabled: boolean }[] };
  assert.equal(categories.filter(({ enabled }) => enabled).length, 400);
});
