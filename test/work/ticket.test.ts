import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { context, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { ticketHash } from '../../src/access/tickets/ticket.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { serve, workOf } from './following.ts';

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
