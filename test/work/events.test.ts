import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../support/until.ts';
import { serve, workOf } from './following.ts';

const posted = (customer: string) => ({ method: 'POST', body: '{}', headers: { 'x-customer': customer } });

describe('work of an HTTP request goes on in events', () => {
  it('of its end where it has no body, also when it is read late', async (t) => {
    const { matches } = workOf(t, { 'url.path': '/77' });
    const url = await serve(t, async (incoming, response) => {
      if (incoming.headers['x-late']) await new Promise(setImmediate);
      incoming.resume().on('end', () => response.end(String(matches())));
    });
    for (const headers of [{}, { 'x-late': '1' }])
      for (const path of ['/76', '/77', '/76'])
        assert.equal(await (await fetch(url + path, { headers: headers as never })).text(), String(path === '/77'));
  });

  it('of its answer, where access logs are written', async (t) => {
    const { matches } = workOf(t, { 'http.request.header.x-customer': '77' });
    const seen: string[] = [];
    const url = await serve(t, (incoming, response) => {
      const note = (event: string) => () => seen.push(`${event} ${incoming.headers['x-customer']} ${matches()}`);
      response.on('finish', note('finish')).on('close', note('close'));
      incoming.resume().on('end', () => response.end());
    });
    for (const customer of ['76', '77', '76']) await fetch(url, posted(customer));
    const expected = ['76 false', '77 true', '76 false'];
    await until('the last answer is closed', () => seen.length === 6);
    assert.deepEqual(
      seen,
      expected.flatMap((result) => [`finish ${result}`, `close ${result}`]),
    );
  });

  it('and leaves the attributes of work inside the request as they are', async (t) => {
    const { context, matches } = workOf(t, { 'user.id': '42' });
    const url = await serve(t, (incoming, response) => {
      context.run({ 'user.id': '42' }, async () => {
        for await (const _chunk of incoming);
        response.end(String(matches()));
      });
    });
    assert.equal(await (await fetch(url, posted('1'))).text(), 'true');
  });
});
