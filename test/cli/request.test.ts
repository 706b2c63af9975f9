import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { category } from '../../src/api.ts';
import type { StatusResponse } from '../../src/wire/messages.ts';
import { makeKey } from '../auth/records.ts';
import { KEYS, startServer } from '../support/server.ts';
import { serve } from '../work/following.ts';
import { realService } from './service.ts';

describe('rdcp request', () => {
  const ops = makeKey({ id: 'ops', clientId: 'ops', scopes: ['admin'] });
  const enabling = makeKey({ id: 'e', scopes: ['admin'], allow: { categories: ['*'], actions: ['enable', 'tail'] } });
  const lines: string[] = [];
  const { rdcp, says } = realService({ emit: { to: ({ message }) => void lines.push(message) } }, [ops, enabling]);

  /** A server that debugs the address of each request. */
  const shopOf = (t: TestContext, name: string) => {
    const requests = category(name);
    return serve(t, (request, response) => {
      requests.debug(`${request.url}`);
      response.end();
    });
  };

  it('prints the header with which a category is on for a request', async (t) => {
    const shop = await shopOf(t, 'REQUEST_DATABASE');
    const { stdout, stderr } = await says('request request_database --for 10m');
    const [, baggage = ''] = /^curl -H 'baggage: (rdcp\.debug=[\w.-]+)' URL\n$/.exec(stdout) ?? [];
    assert.match(stderr, /^REQUEST_DATABASE is on for requests with this header, until /);
    await fetch(`${shop}/with`, { headers: { baggage } });
    await fetch(`${shop}/without`);
    assert.deepEqual(lines, ['/with']);
  });

  it('reads the lines of these requests with --tail, and ends in time', async (t) => {
    const shop = await shopOf(t, 'REQUEST_TAILED');
    let baggage = '';
    let visits: Promise<unknown> | undefined;
    const { code, stdout } = await rdcp(['request', 'REQUEST_TAILED', '--tail', '--for', '3s'], {
      heard: (text) => {
        baggage ||= /baggage: (\S+)'/.exec(text)?.[1] ?? '';
      },
      noted: (text) => {
        if (!text.startsWith('Tailing ')) return;
        visits = Promise.all([fetch(`${shop}/with`, { headers: { baggage } }), fetch(`${shop}/without`)]);
      },
    });
    await visits;
    assert.equal(code, 0);
    assert.match(stdout, /REQUEST_TAILED \/with$/m);
    assert.doesNotMatch(stdout, /without/);
  });

  it('ends the ticket with the tail at Ctrl-C, or says how', async () => {
    category('REQUEST_LEFT');
    const left = async (key: string) => {
      const interrupted = new AbortController();
      const noted = (text: string) => text.startsWith('Tailing ') && interrupted.abort();
      const options = { env: { RDCP_API_KEY: key }, interrupted: interrupted.signal, noted };
      const { stderr } = await says('request REQUEST_LEFT --tail', undefined, options);
      const { otelrdcp_activations } = JSON.parse((await says('status -o json')).stdout) as StatusResponse;
      return [stderr.trimEnd().split('\n').at(-1), otelrdcp_activations?.REQUEST_LEFT?.[0]?.id];
    };
    assert.deepEqual(await left(ops.key), ['The ticket has ended.', undefined]);
    const [said, id] = await left(enabling.key);
    assert.match(said!, new RegExp(`^The ticket is valid until [\\d:]+\\S+; to end it: rdcp end --id ${id}$`));
  });

  it('makes no ticket where another service has none of its categories, or cannot be read', async (t) => {
    category('REQUEST_NO_TICKET');
    const other = await startServer(t);
    for (const [key, said] of [
      [ops.key, `${other.url} cannot be read:`],
      [KEYS.admin, `${other.url} has none of these categories: REQUEST_NO_TICKET`],
    ] as const) {
      const options = { env: { RDCP_API_KEY: key }, code: 1 };
      const { stderr } = await says(`request REQUEST_NO_TICKET --tail --also ${other.url}`, undefined, options);
      assert.ok(stderr.includes(said), stderr);
    }
    const { otelrdcp_activations } = JSON.parse((await says('status -o json')).stdout) as StatusResponse;
    assert.equal(otelrdcp_activations?.REQUEST_NO_TICKET, undefined);
  });
});
