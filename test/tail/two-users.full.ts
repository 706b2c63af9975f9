// In a process of its own: it follows the HTTP requests of the process, and registers an OpenTelemetry SDK.

import assert from 'node:assert/strict';
import { Agent, get, type IncomingHttpHeaders } from 'node:http';
import { after, describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { type Category, setAttributes } from '../../src/api.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { KEYS, startServer } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { serve } from '../work/following.ts';

const REQUESTS = 2000;
/** At the same time. Their lines are read before the next ones, so that none is dropped on a busy machine. */
const BATCH = 200;
const CONNECTIONS = 20;

const kept = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
const sdk = new NodeSDK({ spanProcessors: [kept], metricReaders: [], logRecordProcessors: [], instrumentations: [] });
sdk.start();
after(() => sdk.shutdown());

type Set = typeof setAttributes;

interface Source {
  /** What the client sends for a user. */
  readonly headers: (user: string) => Record<string, string>;
  readonly attribute: string;
  /** Runs the work of a request as the service does that has this source. */
  readonly serve: (headers: IncomingHttpHeaders, set: Set, work: () => Promise<void>) => Promise<void>;
}

const named = (user: string) => ({ 'x-user': user });

const SOURCES: Readonly<Record<string, Source>> = {
  baggage: {
    headers: (user) => ({ baggage: `user.id=${user}` }),
    attribute: 'user.id',
    serve: (headers, _set, work) => context.with(propagation.extract(ROOT_CONTEXT, headers), work),
  },
  setAttributes: {
    headers: named,
    attribute: 'user.id',
    serve: async (headers, set, work) => {
      await turn();
      set({ 'user.id': headers['x-user'] as string });
      await work();
    },
  },
  'a header': { headers: named, attribute: 'http.request.header.x-user', serve: (_headers, _set, work) => work() },
  'an attribute of the span': {
    headers: named,
    attribute: 'enduser.id',
    serve: (headers, _set, work) =>
      trace.getTracer('test').startActiveSpan('request', async (span) => {
        span.setAttribute('enduser.id', headers['x-user'] as string);
        await work();
        span.end();
      }),
  },
};

/** The application, whose every request makes two calls. Returns a function that sends a batch of requests, of both users by turns. */
async function startShop(t: TestContext, source: Source, category: Pick<Category, 'debug'>, set: Set) {
  const url = await serve(t, async ({ headers, url: path }, response) => {
    await source.serve(headers, set, async () => {
      category.debug('begun', { path });
      await turn();
      category.debug('done', { path });
    });
    response.end();
  });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  t.after(() => agent.destroy());
  const ask = (index: number) =>
    new Promise<void>((resolve, reject) => {
      const headers = source.headers(index % 2 === 0 ? '42' : '43');
      get(`${url}/${index}`, { agent, headers }, (response) => response.resume().on('end', resolve)).on(
        'error',
        reject,
      );
    });
  return (from: number) => Promise.all(Array.from({ length: BATCH }, (_, offset) => ask(from + offset)));
}

/** Two lines of each request of user 42. */
const EXPECTED = Array.from({ length: REQUESTS / 2 }, (_, half) => [`begun /${2 * half}`, `done /${2 * half}`])
  .flat()
  .sort();

describe('of two users at once, one has every line and the other none', () => {
  for (const [name, source] of Object.entries(SOURCES)) {
    it(`in a tail by ${name}, in ${REQUESTS} requests`, async (t) => {
      const { gate, url: baseUrl } = await startServer(t);
      const category = gate.category('HTTP');
      const askBatch = await startShop(t, source, category, (attributes) => gate.work.set(attributes));
      const lines: string[] = [];
      const askAll = async () => {
        for (let from = 0; from < REQUESTS; from += BATCH) {
          await askBatch(from);
          await until(`the lines of request ${from + BATCH}`, () => lines.length >= from + BATCH);
        }
        gate.work.run({ [source.attribute]: '42' }, () => category.debug('the last line'));
      };
      const match = { [source.attribute]: '42' };
      const client = createRdcpClient({ baseUrl, apiKey: KEYS.admin });
      let asking: Promise<void> | undefined;
      for await (const { event, data } of client.tail('HTTP', { target: { match }, rate: 10_000 })) {
        if (event === 'instance') asking ??= askAll();
        if (event !== 'line') continue;
        if (data.message === 'the last line') break;
        lines.push(`${data.message} ${data.attributes.path}`);
      }
      await asking;
      assert.deepEqual(lines.sort(), EXPECTED);
    });

    it(`while the category is on by ${name}, in ${REQUESTS} requests`, async (t) => {
      const { rdcp, records, clientOf } = await startService(t, { announce: false });
      const category = rdcp.category('HTTP');
      const askBatch = await startShop(t, source, category, setAttributes);
      const client = clientOf(KEYS.admin);
      await client.enable('HTTP', {
        duration: '10m',
        otelrdcp_target: { match: { [source.attribute]: '42' } },
        // By default 500 calls a second are let through.
        otelrdcp_budget: false,
      });
      for (let from = 0; from < REQUESTS; from += BATCH) await askBatch(from);
      await client.reset('HTTP');
      await askBatch(REQUESTS);
      assert.deepEqual(records.map(({ message, attributes }) => `${message} ${attributes.path}`).sort(), EXPECTED);
    });
  }
});
