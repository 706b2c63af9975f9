import { gzipSync } from 'node:zlib';
import { errorOf, expectOk, expectRefusal, valueAt } from '../body.ts';
import { type Row, section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { type Answer, exchangeRaw, header } from '../http.ts';
import { evidence, PATHS, type SendOptions, type Session } from '../session.ts';
import { capability, discovery, health, readStates, status, subject, wellKnown } from '../subject.ts';
import { switching } from '../switching.ts';
import { IDENTIFIER } from '../value-types.ts';

const VENDOR_TYPE = 'application/vnd.rdcp.v1+json';
const MALFORMED = 'RDCP_MALFORMED_REQUEST';
/** Largest body that is read, in bytes. */
const LARGEST_BODY = 64 * 1024;

function refusedRead(status: number, code: string, options: SendOptions): Row[3] {
  return async (session) => void expectRefusal(await session.get(PATHS.status, options), [status], [code]);
}

/** A control request that would change nothing, were it accepted. */
function refusedControl(status: number, code: string, options: SendOptions): Row[3] {
  return async (session) => {
    await subject(session);
    expectRefusal(
      await session.send('POST', PATHS.control, { json: { action: 'status' }, ...options }),
      [status],
      [code],
    );
  };
}

const oversized = () => JSON.stringify({ action: 'status', options: { reason: 'x'.repeat(LARGEST_BODY) } });

/** An answer of each kind: of every endpoint, refused and not. */
const everyKind = evidence(
  async (session): Promise<readonly Answer[]> => [
    await wellKnown(session),
    await discovery(session),
    await status(session),
    await health(session),
    (await switching(session)).enable.answer,
    await session.get('/rdcp/v1/no-such-resource'),
    await session.get(PATHS.status, { as: 'nobody' }),
  ],
);

/** The same request again with each method that the endpoint does not have. */
async function expectMethodsRefused(session: Session, path: string, allowed: readonly string[]): Promise<void> {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'].filter((one) => !allowed.includes(one))) {
    const answer = await session.send(method, path);
    expectRefusal(answer, [405], ['RDCP_METHOD_NOT_ALLOWED']);
    const allow = (header(answer, 'allow') ?? '').split(/\s*,\s*/);
    expect(
      allowed.every((one) => allow.includes(one)),
      `Allow with ${allowed.join(', ')}`,
      show(header(answer, 'allow')),
    );
  }
}

export const requestDecisions = section(
  1,
  'Requests',
  [
    [
      'W-REQU-01',
      'MUST',
      'A request without X-RDCP-Request-ID is given one, which the answer carries',
      async (s) => {
        const answer = await s.get(PATHS.status, { headers: { 'X-RDCP-Request-ID': undefined } });
        const id = header(answer, 'x-rdcp-request-id');
        expect(IDENTIFIER.test(id), `X-RDCP-Request-ID to be ${IDENTIFIER.is}`, show(id));
      },
    ],
    [
      'W-REQU-02',
      'MUST',
      'The X-RDCP-Request-ID of a request is the one of the answer, also of a refusal',
      async (s) => {
        const headers = { 'X-RDCP-Request-ID': 'conformance.W-REQU-02' };
        for (const path of [PATHS.status, '/rdcp/v1/no-such-resource']) {
          const id = header(await s.get(path, { headers }), 'x-rdcp-request-id');
          expect(id === headers['X-RDCP-Request-ID'], headers['X-RDCP-Request-ID'], show(id));
        }
      },
    ],
    [
      'W-REQU-03',
      'MUST',
      'An X-RDCP-Request-ID that is no identifier is refused with 400',
      refusedRead(400, MALFORMED, { headers: { 'X-RDCP-Request-ID': 'two words' } }),
    ],
    [
      'W-REQU-04',
      'MUST',
      'An X-RDCP-Client-ID that is no identifier is refused with 400',
      refusedRead(400, MALFORMED, { headers: { 'X-RDCP-Client-ID': 'a'.repeat(256) } }),
    ],
    [
      'W-REQU-05',
      'MUST',
      'Every answer carries X-RDCP-Protocol: rdcp/1.0',
      async (s) => {
        for (const answer of await everyKind(s)) {
          const stated = header(answer, 'x-rdcp-protocol');
          expect(stated === 'rdcp/1.0', `${answer.request} with rdcp/1.0`, show(stated));
        }
      },
    ],
    [
      'W-REQU-06',
      'MUST',
      'X-RDCP-Protocol: rdcp/1.0 is accepted',
      async (s) => void expectOk(await s.get(PATHS.status, { headers: { 'X-RDCP-Protocol': 'rdcp/1.0' } })),
    ],
    [
      'W-REQU-07',
      'MUST',
      'Another version in X-RDCP-Protocol is refused with 400 RDCP_VERSION_UNSUPPORTED and details.supported',
      async (s) => {
        const answer = await s.get(PATHS.status, { headers: { 'X-RDCP-Protocol': 'rdcp/9.9' } });
        const error = expectRefusal(answer, [400], ['RDCP_VERSION_UNSUPPORTED']);
        const supported = valueAt(error, 'details.supported');
        expect(JSON.stringify(supported).includes('rdcp/1.0'), 'details.supported with rdcp/1.0', show(supported));
      },
    ],
    [
      'W-REQU-08',
      'MUST',
      'Another version in a control body is refused with 400 RDCP_VERSION_UNSUPPORTED',
      refusedControl(400, 'RDCP_VERSION_UNSUPPORTED', { json: { action: 'status', protocol: 'rdcp/9.9' } }),
    ],
    [
      'W-REQU-09',
      'MUST',
      'protocol rdcp/1.0 in a control body is accepted',
      async (s) => {
        const { name } = await subject(s);
        expectOk(await s.control({ action: 'status', categories: [name], protocol: 'rdcp/1.0' }));
      },
    ],
    [
      'W-REQU-10',
      'MUST',
      'Answers are application/json unless the client prefers the registered media type',
      async (s) => {
        const both = await s.get(PATHS.status, { headers: { Accept: `application/json, ${VENDOR_TYPE};q=0.9` } });
        const plain = header(both, 'content-type') ?? '';
        expect(plain.startsWith('application/json'), 'application/json', plain);
        const vendor = header(await s.get(PATHS.status, { headers: { Accept: VENDOR_TYPE } }), 'content-type') ?? '';
        expect(vendor.startsWith(VENDOR_TYPE), VENDOR_TYPE, vendor);
      },
    ],
    [
      'W-REQU-11',
      'MUST',
      'A client that accepts neither is refused with 406 RDCP_MEDIA_NOT_ACCEPTABLE',
      refusedRead(406, 'RDCP_MEDIA_NOT_ACCEPTABLE', { headers: { Accept: 'text/html' } }),
    ],
    [
      'W-REQU-12',
      'MUST',
      'A control body of the registered media type is read',
      async (s) => {
        const { name } = await subject(s);
        const headers = { 'Content-Type': `${VENDOR_TYPE}; charset=utf-8` };
        expectOk(await s.control({ action: 'status', categories: [name] }, { headers }));
      },
    ],
    [
      'W-REQU-13',
      'MUST',
      'A control body of another type is refused with 415 RDCP_MEDIA_UNSUPPORTED',
      refusedControl(415, 'RDCP_MEDIA_UNSUPPORTED', { headers: { 'Content-Type': 'text/plain' } }),
    ],
    [
      'W-REQU-14',
      'MUST',
      'A control body in another charset is refused with 415 RDCP_MEDIA_UNSUPPORTED',
      refusedControl(415, 'RDCP_MEDIA_UNSUPPORTED', {
        headers: { 'Content-Type': 'application/json; charset=iso-8859-1' },
      }),
    ],
    [
      'W-REQU-15',
      'MUST',
      'A control body with a content encoding is refused with 415 RDCP_MEDIA_UNSUPPORTED',
      async (s) => {
        const body = gzipSync('{"action":"status"}');
        const headers = { 'Content-Encoding': 'gzip' };
        const answer = await s.send('POST', PATHS.control, { body, headers });
        expectRefusal(answer, [415], ['RDCP_MEDIA_UNSUPPORTED']);
      },
    ],
    [
      'W-REQU-16',
      'MUST',
      'A control body over 64 KiB is refused with 413 RDCP_REQUEST_TOO_LARGE',
      async (s) => {
        const answer = await s.send('POST', PATHS.control, { body: oversized() });
        expectRefusal(answer, [413], ['RDCP_REQUEST_TOO_LARGE']);
      },
    ],
    [
      'W-REQU-17',
      'MUST',
      'Another method than an endpoint has is refused with 405 RDCP_METHOD_NOT_ALLOWED and Allow',
      async (s) => {
        for (const path of [PATHS.wellKnown, PATHS.discovery, PATHS.status, PATHS.health]) {
          await expectMethodsRefused(s, path, ['GET', 'HEAD']);
        }
        await expectMethodsRefused(s, PATHS.control, ['POST']);
      },
    ],
    [
      'W-REQU-18',
      'MUST',
      'HEAD answers as GET does, without a body',
      async (s) => {
        const answer = await s.send('HEAD', PATHS.status);
        expect(answer.status === 200 && answer.text === '', '200 without a body', `${answer.status} ${answer.text}`);
        expect(header(answer, 'content-type')?.includes('json') === true, 'the headers of GET', show(answer.headers));
      },
    ],
    [
      'W-REQU-19',
      'MUST',
      'A query string or a body on a GET is ignored',
      async (s) => {
        expectOk(await s.get(`${PATHS.status}?verbose=1`));
        expectOk(await s.send('GET', PATHS.status, { json: { categories: [] } }));
      },
    ],
    [
      'W-REQU-20',
      'MUST',
      'An unknown field of a control body is refused with 400 and named',
      async (s) => {
        const { name } = await subject(s);
        const before = (await readStates(s))[name];
        const options = { temporary: true, durration: '15m' };
        const answer = await s.control({ action: before === true ? 'disable' : 'enable', categories: [name], options });
        const field = valueAt(expectRefusal(answer, [400], [MALFORMED]), 'details.field');
        expect(String(field).includes('durration'), 'details.field that names durration', show(field));
        expect((await readStates(s))[name] === before, `${name} as it was`, 'another state');
      },
    ],
    [
      'W-REQU-21',
      'MUST',
      'A control request dated more than 5 minutes off is refused with 400 and the reason clock_skew',
      async (s) => {
        const { name } = await subject(s);
        for (const offset of [-6, 6]) {
          const date = new Date(Date.now() + offset * 60_000).toUTCString();
          const answer = await s.control({ action: 'status', categories: [name] }, { headers: { Date: date } });
          const reason = valueAt(expectRefusal(answer, [400], [MALFORMED]), 'details.reason');
          expect(reason === 'clock_skew', 'details.reason clock_skew', show(reason));
        }
      },
    ],
    [
      'W-REQU-22',
      'MUST',
      'Without multi-tenancy a tenant header is refused with 400 on control and ignored on GET',
      async (s) => {
        if (await capability(s, 'multiTenancy')) skip('the server has tenants');
        const { name } = await subject(s);
        const headers = { 'X-RDCP-Tenant-ID': 'acme' };
        expectRefusal(await s.control({ action: 'status', categories: [name] }, { headers }), [400], [MALFORMED]);
        expectOk(await s.get(PATHS.status, { headers }));
      },
    ],
    [
      'W-REQU-23',
      'MUST',
      'Bytes that are no HTTP are refused with a 4xx in the error envelope',
      async (s) => {
        const answer = await exchangeRaw(s.target, 'NONSENSE\r\n\r\n');
        expect(answer !== undefined, 'an answer', 'a closed connection');
        const error = errorOf(answer);
        const right = answer.status >= 400 && answer.status < 500 && error !== undefined;
        expect(right, 'a 4xx with an error object', `${answer.status} ${show(answer.text)}`);
      },
    ],
    [
      'W-REQU-24',
      'MUST',
      'Over plain HTTP another Host than this server is refused with a 4xx',
      async (s) => {
        if (s.target.url.protocol === 'https:') skip('the server is spoken to over TLS');
        const request = `GET ${PATHS.wellKnown} HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n`;
        const answer = await exchangeRaw(s.target, request);
        const refused = answer !== undefined && answer.status >= 400 && answer.status < 500;
        expect(refused && errorOf(answer) !== undefined, 'a 4xx with an error object', show(answer?.text));
      },
    ],
    [
      'W-REQU-25',
      'MUST',
      'protocol stands in the error object and beside it',
      async (s) => {
        const { body } = await s.get('/rdcp/v1/no-such-resource');
        const both = valueAt(body, 'protocol') === 'rdcp/1.0' && valueAt(body, 'error.protocol') === 'rdcp/1.0';
        expect(both, 'rdcp/1.0 in both places', show(body));
      },
    ],
    [
      'W-REQU-26',
      'MUST',
      'A malformed X-RDCP-Tenant-ID is refused with 400, with a credential and without',
      async (s) => {
        const headers = { 'X-RDCP-Tenant-ID': 'no identifier' };
        expectRefusal(await s.get(PATHS.status, { headers }), [400], [MALFORMED]);
        expectRefusal(await s.get(PATHS.status, { headers, as: 'nobody' }), [400], [MALFORMED]);
      },
    ],
  ],
  { profile: 'otelrdcp' },
);
