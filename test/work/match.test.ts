import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { ticketHash } from '../../src/access/tickets/ticket.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { type WorkAttributes, WorkContext } from '../../src/gate/work.ts';
import { createRedaction } from '../../src/wire/redaction.ts';
import type { Match } from '../../src/wire/target.ts';
import { serve, workOf } from './following.ts';

describe('work with attributes of the application', () => {
  it('matches what is called in it, also later, and nothing else', async (t) => {
    const { context, matches, within } = workOf(t, { 'user.id': '42' });
    assert.equal(matches(), false);
    const seen = await context.run({ 'user.id': 42 }, async () => {
      await turn();
      return matches();
    });
    assert.equal(seen, true);
    assert.equal(matches(), false);
    assert.equal(within({ 'user.id': '420' }), false);
  });

  it('has the attributes of the work around it, and changes none of them', (t) => {
    const { context, matches, within } = workOf(t, { 'user.id': '42', 'job.name': 'mail*' });
    context.run({ 'user.id': '42' }, () => {
      assert.equal(within({ 'job.name': 'mailing' }), true);
      assert.equal(matches(), false);
    });
  });

  it('matches from where an attribute is set, for the rest of it', async (t) => {
    const { context, matches } = workOf(t, { 'user.id': '42' });
    const authenticate = async () => {
      await turn();
      context.set({ 'user.id': '42' });
    };
    await context.run({}, async () => {
      assert.equal(matches(), false);
      await authenticate();
      assert.equal(matches(), true);
    });
    assert.equal(matches(), false);
  });

  it('begins where an attribute is set without any', async (t) => {
    const { context, matches } = workOf(t, { 'user.id': '42' });
    const inside = new Promise<boolean>((resolve) => {
      setImmediate(() => {
        context.set({ 'user.id': '42' });
        setImmediate(() => resolve(matches()));
      });
    });
    assert.equal(await inside, true);
    assert.equal(matches(), false);
  });

  it('ignores what is no attribute, and takes no more than 64', (t) => {
    const { within } = workOf(t, { last: '1' });
    const throwing = {
      get bad(): string {
        throw new Error('a getter of the application');
      },
    };
    for (const odd of [null, 1, 'text', throwing, { last: {} }, { last: 'x'.repeat(2000) }]) {
      assert.equal(within(odd as never), false);
    }
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`a${index}`, '1']));
    assert.equal(within({ ...many, last: '1' }), false);
  });
});

describe('work of an HTTP request', () => {
  const CASES: readonly (readonly [Match, boolean])[] = [
    [{ 'url.path': '/orders/7' }, true],
    [{ 'url.path': '/orders/*' }, true],
    [{ 'url.path': '/order' }, false],
    [{ 'url.query.page': '2' }, true],
    [{ 'url.query.size': '2' }, false],
    [{ 'http.request.method': 'GET' }, true],
    [{ 'http.request.header.X-Customer': '77' }, true],
    [{ 'http.request.header.x-customer': '7' }, false],
    [{ 'client.address': '127.0.0.1' }, true],
    [{ 'http.request.method': 'GET', 'url.path': '/other' }, false],
    [{ constructor: '*' }, false],
    [{ 'http.request.header.constructor': '*' }, false],
    [{ 'http.request.header.__proto__': '*' }, false],
    [{ 'http.request.header.toString': '*' }, false],
    [{ 'url.query.constructor': '*' }, false],
  ];
  for (const [match, expected] of CASES) {
    it(`${expected ? 'matches' : 'does not match'} ${JSON.stringify(match)}`, async (t) => {
      const { matches } = workOf(t, match);
      const url = await serve(t, async (_request, response) => {
        await turn();
        response.end(String(matches()));
      });
      const response = await fetch(`${url}/orders/7?page=2`, { headers: { 'x-customer': '77' } });
      assert.equal(await response.text(), String(expected));
      assert.equal(matches(), false);
    });
  }

  it('ends with its answer, and is not mistaken for the next request of its connection', async (t) => {
    const { matches, end } = workOf(t, { 'url.path': '/first' });
    const url = await serve(t, (_request, response) => void response.end(String(matches())));
    assert.equal(await (await fetch(`${url}/first`)).text(), 'true');
    assert.equal(await (await fetch(`${url}/second`)).text(), 'false');
    assert.equal(await (await fetch(`${url}/first`)).text(), 'true');
    // The same connection, while nobody follows requests.
    end();
    assert.equal(await (await fetch(`${url}/first`)).text(), 'false');
  });
});

describe('work that OpenTelemetry describes', () => {
  it('takes nothing from baggage that the request itself has: a client fills baggage', async (t) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    t.after(() => context.disable());
    const real = workOf(t, { 'client.address': '127.0.0.1', 'url.path': '/orders', 'url.query.page': '2' });
    const url = await serve(t, (_request, response) => {
      const forged = { 'client.address': '10.0.0.1', 'url.path': '/other', 'url.query.page': '3' };
      const entries = Object.entries(forged).map(([name, value]) => [name, { value }]);
      const baggage = propagation.createBaggage(Object.fromEntries(entries));
      const seen = context.with(propagation.setBaggage(context.active(), baggage), () => real.matches());
      response.end(String(seen));
    });
    assert.equal(await (await fetch(`${url}/orders?page=2`)).text(), 'true');
  });

  it('survives baggage of 8 KiB, doubled and encoded entries, and values that are no text', (t) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    t.after(() => context.disable());
    const user = workOf(t, { 'user.id': '4*' });
    const parsed = { header: `user.id=1,user.id=4%32,__proto__=1,constructor=2,filler=${'x'.repeat(8000)}` };
    const entries = parsed.header.split(',').map((entry) => entry.split('='));
    const baggage = propagation.createBaggage(
      Object.fromEntries(entries.map(([name, value]) => [name, { value: decodeURIComponent(value!) }])),
    );
    const matched = (given: typeof baggage) =>
      context.with(propagation.setBaggage(context.active(), given), () => user.matches());
    assert.equal(matched(baggage), true);
    assert.equal(matched(propagation.createBaggage({ 'user.id': { value: 42 as unknown as string } })), true);
    assert.equal(matched(propagation.createBaggage({ 'user.id': { value: {} as unknown as string } })), false);
  });

  it('matches baggage, and attributes of the active span', (t) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    t.after(() => context.disable());
    const user = workOf(t, { 'user.id': '42' });
    const span = new TracerProvider().getTracer('test').startSpan('work', { attributes: { 'enduser.id': 42 } });
    const baggage = propagation.createBaggage({ 'user.id': { value: '42' } });
    context.with(propagation.setBaggage(context.active(), baggage), () => assert.equal(user.matches(), true));
    const enduser = workOf(t, { 'enduser.id': '42' });
    context.with(trace.setSpan(context.active(), span), () => assert.equal(enduser.matches(), true));
    assert.equal(user.matches() || enduser.matches(), false);
  });
});

describe('what redaction hides', () => {
  const hidden = (redact: readonly string[], name: string) => {
    const follower = new WorkFollower(new WorkContext(), createRedaction(redact));
    assert.throws(() => follower.check({ [name]: 'a*' }), { code: 'RDCP_MALFORMED_REQUEST' }, name);
  };

  it('cannot be named, in any case and behind any prefix', () => {
    for (const name of [
      'password',
      'http.request.header.Authorization',
      'http.request.header.SET-COOKIE',
      'http.response.header.Set-Cookie',
      'http.request.header.X-Api-Key',
      'url.query.token',
      'url.query.access_token',
    ]) {
      hidden([], name);
    }
    for (const name of ['ssn', 'url.query.SSN', 'http.request.header.Ssn', 'http.response.header.ssn']) {
      hidden(['ssn'], name);
    }
    for (const name of ['url.query.x-tax-id', 'http.request.header.X-Tax-Id']) hidden(['x-tax*'], name);
  });

  for (const [name, value, guess] of [
    ['http.target', '/reset?page=1&token=hunter2', '/reset?page=1&token=h*'],
    ['url.query', 'token=hunter2', 'token=h*'],
    ['url.query', 'to%6Ben=hunter2&a=1', 'to%6Ben=h*'],
    ['url.query', 'ssn=123', 'ssn=1*'],
    ['http.url', 'https://ann:hunter2@shop.example/', 'https://ann:h*'],
    ['job.header', 'Bearer abcdefgh', 'Bearer a*'],
  ] as const) {
    it(`cannot be guessed by the beginning of ${name}=${value}`, (t) => {
      assert.equal(workOf(t, { [name]: guess }, ['ssn']).within({ [name]: value }), false);
    });
  }

  it('leaves the rest of a value', (t) => {
    const { within } = workOf(t, { 'http.target': '/reset?page=1&token=[redacted]&size=2' });
    assert.equal(within({ 'http.target': '/reset?page=1&token=hunter2&size=2' }), true);
  });
});

describe('the items that are for a piece of work', () => {
  const counting = (names: readonly string[], attributes: Readonly<Record<string, string>> = {}) => {
    const context = new WorkContext();
    let shown = 0;
    const redaction = {
      hides: () => false,
      mask: (text: string) => {
        shown += 1;
        return text;
      },
    };
    const matching = new WorkFollower(context, redaction).matching<string>();
    const ends = names.map((value) => matching.add({ 'user.id': value, ...attributes }, value));
    return { context, matching, ends, shown: () => shown };
  };

  it('are decided once, and again when attributes are set or items change', () => {
    const { context, matching, ends, shown } = counting(['42', '4*', '43']);
    context.run({ 'user.id': '42' }, () => {
      for (let call = 0; call < 10; call++) assert.deepEqual(matching.current(), ['42', '4*']);
      assert.equal(shown(), 2, 'one for each that may match, in the first call alone');
      ends[1]?.();
      assert.deepEqual(matching.current(), ['42']);
      matching.add({ 'user.id': '*' }, 'all');
      assert.deepEqual(matching.current(), ['42', 'all']);
      context.set({ 'user.id': '43' });
      assert.deepEqual(matching.current(), ['43', 'all']);
      assert.deepEqual(
        context.run({ 'user.id': '5' }, () => matching.current()),
        ['all'],
      );
      assert.deepEqual(matching.current(), ['43', 'all']);
    });
    for (const end of ends) end();
  });

  it('are found by name and value among a thousand, prefixes and those for all work too', () => {
    const { context, matching, ends } = counting(Array.from({ length: 1000 }, (_, user) => `${user}`));
    const endPrefix = matching.add({ 'user.id': '99*', plan: 'gold' }, 'gold');
    const endAll = matching.add(undefined, 'everything');
    const of = (attributes: WorkAttributes) => context.run(attributes, () => matching.current());
    assert.deepEqual(of({ 'user.id': '999', plan: 'gold' }), ['everything', '999', 'gold']);
    assert.deepEqual(of({ 'user.id': '999' }), ['everything', '999']);
    assert.deepEqual(of({ 'user.id': '1000' }), ['everything']);
    assert.deepEqual(of({}), ['everything']);
    assert.deepEqual(matching.current(), ['everything']);
    for (const end of [...ends, endPrefix, endAll]) end();
    assert.deepEqual(of({ 'user.id': '1' }), []);
  });
});

const TICKET = 'rdcp_ticket_AAAAAAAAAAAAAAAAAAAAAA';
const target = { 'rdcp.ticket': ticketHash(TICKET) };
const carrying = (baggage: string) => ({ headers: { baggage } });

describe('the ticket of work', () => {
  it('is that of the HTTP request, known by its hash', async (t) => {
    const { matches } = workOf(t, target);
    const url = await serve(t, (_request, response) => void response.end(String(matches())));
    const answer = async (baggage: string) => (await fetch(url, carrying(baggage))).text();
    assert.equal(await answer(`user.id=1,rdcp.debug=${TICKET};ttl=1`), 'true');
    assert.equal(await answer(`rdcp.debug=${TICKET}x`), 'false');
    assert.equal(await answer(`rdcp.ticket=${target['rdcp.ticket']}`), 'false', 'the hash is no ticket');
    assert.equal(await (await fetch(url)).text(), 'false');
  });

  it('is that of the active baggage, outside of a request too', (t) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    t.after(() => context.disable());
    const { matches } = workOf(t, target);
    const within = (entries: Record<string, { value: string }>) =>
      context.with(propagation.setBaggage(context.active(), propagation.createBaggage(entries)), () => [
        matches(),
        matches(),
      ]);
    assert.deepEqual(within({ 'rdcp.debug': { value: TICKET } }), [true, true]);
    assert.deepEqual(within({ 'rdcp.debug': { value: 42 as unknown as string } }), [false, false]);
    assert.deepEqual(within({ 'rdcp.ticket': { value: target['rdcp.ticket'] } }), [false, false]);
    assert.equal(matches(), false);
  });

  it('cannot be guessed by matching its beginning', async (t) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    t.after(() => context.disable());
    const guesses = ['rdcp.debug', 'http.request.header.baggage', 'http.request.header.Baggage'].map((name) =>
      workOf(t, { [name]: '*' }),
    );
    const url = await serve(t, (_request, response) => {
      const entries = propagation.createBaggage({ 'rdcp.debug': { value: TICKET } });
      const seen = context.with(propagation.setBaggage(context.active(), entries), () =>
        guesses.some(({ matches }) => matches()),
      );
      response.end(String(seen));
    });
    assert.equal(await (await fetch(url, carrying(`rdcp.debug=${TICKET}`))).text(), 'false');
  });

  it('is announced with each request that carries one, until that is ended', async (t) => {
    const work = workOf(t, target);
    const announced: string[] = [];
    const end = new WorkFollower(work.context).followTickets((ticket) => announced.push(ticket));
    const url = await serve(t, (_request, response) => void response.end());
    await fetch(url, carrying(`rdcp.debug=${TICKET}`));
    await fetch(url);
    await fetch(url, carrying('rdcp.debug=other'));
    end();
    await fetch(url, carrying(`rdcp.debug=${TICKET}`));
    assert.deepEqual(announced, [TICKET, 'other']);
  });
});
