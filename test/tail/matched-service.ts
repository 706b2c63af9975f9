import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { context, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { Match } from '../../src/wire/target.ts';
import { KEYS, startServer } from '../support/server.ts';

/** Over so many connections, which are reused. */
const CONNECTIONS = 8;
const REQUESTS = 400;
const MOST_LINES_A_SECOND = 10_000;

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const tracer = new TracerProvider().getTracer('test');

/** A request to `/orders/:id` or `/basket/:id`, by its number. */
interface Asked {
  readonly path: string;
  readonly customer: string;
  readonly user: string;
}

/** Of each attribute there are others in every combination. */
function asked(index: number): Asked {
  const path = `/${index % 2 === 0 ? 'orders' : 'basket'}/${index % 5}`;
  return { path, customer: String(70 + (index % 9)), user: String(40 + (index % 7)) };
}

/** What a service does for each request, once it has read its JSON body as its framework does. */
export type Handle = (id: string, headers: IncomingHttpHeaders) => Promise<string>;
/** Starts a service with both routes; returns its base URL. */
export type Start = (t: TestContext, handle: Handle) => Promise<string>;

interface Line {
  readonly step: string;
  readonly id: string;
  readonly customer: string;
  readonly user: string;
}

/**
 * A service with a remote control. Each request writes the line `begun`, then sets `user.id`, then writes `authenticated`, all in
 * a span that has `enduser.id`, with baggage that has `team`.
 * @returns a function that reads the lines that a tail has of so many requests, all at the same time
 */
async function matchedService(t: TestContext, start: Start) {
  const { gate, url: baseUrl } = await startServer(t);
  const client = createRdcpClient({ baseUrl, apiKey: KEYS.admin });
  const category = gate.category('HTTP');
  const url = await start(t, async (id, headers) => {
    const about = { id, customer: headers['x-customer'], user: headers['x-user'] as string };
    const baggage = propagation.createBaggage({ team: { value: String(about.customer) } });
    const attributes = { 'enduser.id': about.user };
    await context.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () =>
      tracer.startActiveSpan('request', { attributes }, async () => {
        category.debug('begun', about);
        await turn();
        gate.work.set({ 'user.id': about.user });
        category.debug('authenticated', about);
        await turn();
      }),
    );
    return id;
  });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  t.after(() => agent.destroy());

  return async (match: Match, requests: readonly Asked[]): Promise<Line[]> => {
    const lines: Line[] = [];
    for await (const { event, data } of client.tail('HTTP', { target: { match }, rate: MOST_LINES_A_SECOND })) {
      if (event === 'instance') {
        void Promise.all(requests.map((one) => ask(agent, url, one))).then(() => {
          gate.work.run(match, () => category.debug('the last line'));
        });
      } else if (event === 'dropped') {
        throw new Error(`${data.count} lines were dropped`);
      } else if (event === 'line') {
        if (data.message === 'the last line') break;
        const { id, customer, user } = data.attributes as Record<string, string>;
        lines.push({ step: data.message, id: id!, customer: customer!, user: user! });
      }
    }
    return lines;
  };
}

function ask(agent: Agent, url: string, { path, customer, user }: Asked): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-customer': customer, 'x-user': user, 'content-type': 'application/json' };
    const sent = request(`${url}${path}`, { agent, method: 'POST', headers }, (response) => {
      response.resume().on('end', resolve).on('error', reject);
    });
    sent.on('error', reject);
    // The body arrives after the head.
    sent.flushHeaders();
    setImmediate(() => sent.end('{}'));
  });
}

const BOTH = ['begun', 'authenticated'];

interface Selected {
  readonly match: Match;
  readonly is: (request: Asked) => boolean;
  readonly steps: readonly string[];
}

const SELECTED: Readonly<Record<string, Selected>> = {
  'one path': { match: { 'url.path': '/orders/4' }, is: ({ path }) => path === '/orders/4', steps: BOTH },
  'one header': {
    match: { 'http.request.header.x-customer': '77' },
    is: ({ customer }) => customer === '77',
    steps: BOTH,
  },
  'what it sets after authentication': {
    match: { 'user.id': '42' },
    is: ({ user }) => user === '42',
    steps: ['authenticated'],
  },
};
const ALSO = {
  'one route': {
    match: { 'http.route': '/orders/:id' },
    is: ({ path }) => path.startsWith('/orders/'),
    steps: BOTH,
  },
  'what baggage says': { match: { team: '77' }, is: ({ customer }) => customer === '77', steps: BOTH },
  'what its span says': { match: { 'enduser.id': '42' }, is: ({ user }) => user === '42', steps: BOTH },
} satisfies Readonly<Record<string, Selected>>;

/** Tests that a tail of some requests has exactly their lines, of many at the same time over connections that are reused. */
export function selects(name: string, start: Start, ...also: readonly (keyof typeof ALSO)[]): void {
  describe(name, () => {
    const selected: Readonly<Record<string, Selected>> = {
      ...SELECTED,
      ...Object.fromEntries(also.map((each) => [each, ALSO[each]])),
    };
    for (const [what, { match, is, steps }] of Object.entries(selected)) {
      it(`has exactly the lines of ${what}`, async (t) => {
        const requests = Array.from({ length: REQUESTS }, (_, index) => asked(index));
        const lines = await (await matchedService(t, start))(match, requests);
        const expected = requests.filter(is).flatMap((one) => steps.map((step) => ({ step, ...about(one) })));
        assert.ok(expected.length > 0);
        assert.deepEqual(sorted(lines), sorted(expected));
      });
    }
  });
}

const about = ({ path, customer, user }: Asked) => ({ id: path.split('/')[2]!, customer, user });
const sorted = (lines: readonly Line[]) => lines.map((line) => JSON.stringify(line)).sort();
