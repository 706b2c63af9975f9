import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { PATHS } from '../../src/protocol/constants.ts';
import { KeptConnection } from '../support/kept-connection.ts';
import { KEYS, startServer } from '../support/server.ts';
import { inBoth, runs } from '../support/tiers.ts';

const JSON_TYPE = 'application/json';
const RDCP_TYPE = 'application/vnd.rdcp.v1+json';

const CASES: readonly (readonly [accept: string | undefined, mediaType: string])[] = [
  [undefined, JSON_TYPE],
  ['', JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/*', JSON_TYPE],
  [JSON_TYPE, JSON_TYPE],
  ['application/json; charset=utf-8', JSON_TYPE],
  ['application/json;charset="UTF-8"', JSON_TYPE],
  [`${RDCP_TYPE}; charset=utf-8, ${JSON_TYPE};q=0.9`, RDCP_TYPE],
  ['APPLICATION/JSON', JSON_TYPE],
  [RDCP_TYPE, RDCP_TYPE],
  [`${RDCP_TYPE}, */*`, RDCP_TYPE],
  [`${RDCP_TYPE}, ${JSON_TYPE}`, RDCP_TYPE],
  [`${JSON_TYPE}, ${RDCP_TYPE}`, JSON_TYPE],
  [`${RDCP_TYPE};q=0.5, ${JSON_TYPE}`, JSON_TYPE],
  [`${RDCP_TYPE};q=0.5, ${JSON_TYPE};q=0.4`, RDCP_TYPE],
  [`${JSON_TYPE};q=0, */*`, RDCP_TYPE],
  ['text/html, application/xhtml+xml, */*;q=0.8', JSON_TYPE],
  [`application/vnd.rdcp.v2+json, ${JSON_TYPE};q=0.1`, JSON_TYPE],
  [',,*/*,', JSON_TYPE],
];

interface Negotiated {
  readonly status: number;
  /** Without its charset. */
  readonly mediaType: string | undefined;
  /** Of a refusal. */
  readonly code: string | undefined;
}

async function negotiating(t: TestContext): Promise<(accept: string | undefined) => Promise<Negotiated>> {
  const connection = new KeptConnection((await startServer(t)).url);
  t.after(() => connection.close());
  return async (accept) => {
    const field = accept === undefined ? '' : `Accept: ${accept}\r\n`;
    const request = `GET ${PATHS.session} HTTP/1.1\r\nHost: localhost\r\nX-RDCP-API-Key: ${KEYS.status}\r\n${field}\r\n`;
    const { status, headers, body } = await connection.exchange(request);
    return { status, mediaType: headers.get('content-type')?.split(';')[0], code: JSON.parse(body).error?.code };
  };
}

for (const [accept, mediaType] of CASES) {
  test(`Accept ${accept ?? '(absent)'} is answered with ${mediaType}`, async (t) => {
    const negotiate = await negotiating(t);
    assert.deepEqual(await negotiate(accept), { status: 200, mediaType, code: undefined });
  });
}

for (const accept of ['text/html', 'application/json;q=0', '*/*;q=0', 'application/json;q=x', 'nonsense', 'text/*']) {
  test(`Accept ${accept} leaves nothing to answer with`, async (t) => {
    const negotiate = await negotiating(t);
    assert.deepEqual(await negotiate(accept), { status: 406, mediaType: JSON_TYPE, code: 'RDCP_MEDIA_NOT_ACCEPTABLE' });
  });
}

test('another version of the protocol alone is refused as a version', async (t) => {
  const negotiate = await negotiating(t);
  for (const accept of ['application/vnd.rdcp.v2+json', 'text/html, application/vnd.rdcp.v17+json;q=0.3']) {
    assert.deepEqual(await negotiate(accept), { status: 400, mediaType: JSON_TYPE, code: 'RDCP_VERSION_UNSUPPORTED' });
  }
  assert.equal((await negotiate('application/vnd.rdcp.v2+json;q=0')).code, 'RDCP_MEDIA_NOT_ACCEPTABLE');
});

inBoth('a type is never answered with when its most exact range has quality 0', async (t) => {
  const negotiate = await negotiating(t);
  const type = fc.constantFrom(JSON_TYPE, RDCP_TYPE, 'application/*', '*/*', 'text/html');
  const range = fc.tuple(type, fc.constantFrom('', ';q=0', ';q=0.5', ';q=1', ';q=0.25'));
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(range, { selector: ([name]) => name, maxLength: 5 }), async (ranges) => {
      const { status, mediaType } = await negotiate(ranges.map(([name, quality]) => name + quality).join(', '));
      if (status !== 200 || ranges.length === 0) return;
      const exact = ['*/*', 'application/*', mediaType].findLast((name) => ranges.some(([range]) => range === name));
      assert.notEqual(exact, undefined);
      assert.notEqual(ranges.find(([name]) => name === exact)?.[1], ';q=0');
    }),
    { numRuns: runs(500) },
  );
});
