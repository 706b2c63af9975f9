import { describe, expectOk } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { type Answer, header } from '../http.ts';
import { evidence, PATHS } from '../session.ts';

const LONGEST_IDENTIFIER = `${'Aa0._-'.repeat(42)}zzz`;

const REQUEST_ID = 'conformance.request_id-1';
const identified = evidence((session) =>
  session.get(PATHS.status, { headers: { 'X-RDCP-Client-ID': 'conformance', 'X-RDCP-Request-ID': REQUEST_ID } }),
);

function expectNoFault(answer: Answer): void {
  expect(answer.status < 500, 'an answer below 500', describe(answer));
}

export const headerChecks = [
  ...section(1, 'Common request headers', [
    [
      'L1-HEAD-01',
      'MUST',
      'X-RDCP-Client-ID and X-RDCP-Request-ID are accepted',
      async (s) => void expectOk(await identified(s)),
    ],
    [
      'L1-HEAD-02',
      'MUST',
      'Identifiers of 255 characters of every allowed kind are accepted',
      async (s) => {
        const headers = { 'X-RDCP-Client-ID': LONGEST_IDENTIFIER, 'X-RDCP-Request-ID': LONGEST_IDENTIFIER };
        expectOk(await s.get(PATHS.status, { headers }));
      },
    ],
    [
      'L1-HEAD-03',
      'MUST',
      'An identifier that breaks the rule is ignored or refused, without a server error',
      async (s) => {
        for (const bad of ['two words', 'a'.repeat(256), '../../etc', "' OR 1=1 --"]) {
          expectNoFault(await s.get(PATHS.status, { headers: { 'X-RDCP-Request-ID': bad } }));
        }
      },
    ],
    [
      'L1-HEAD-04',
      'MAY',
      'An answer that carries X-RDCP-Request-ID repeats the one that was sent',
      async (s) => {
        const echoed = header(await identified(s), 'x-rdcp-request-id');
        if (echoed === undefined) skip('the server does not send X-RDCP-Request-ID');
        expect(echoed === REQUEST_ID, REQUEST_ID, show(echoed));
      },
    ],
  ]),
  ...section(1, 'Endpoints', [
    [
      'L1-ENDP-01',
      'MUST',
      'Accept: application/json is served by every GET endpoint',
      async (s) => {
        for (const path of [PATHS.wellKnown, PATHS.discovery, PATHS.status]) {
          expectOk(await s.get(path, { headers: { Accept: 'application/json' } }));
        }
      },
    ],
    [
      'L1-ENDP-02',
      'MUST',
      'A GET endpoint takes no query parameters: one that is sent causes no server error',
      async (s) => expectNoFault(await s.get(`${PATHS.status}?limit=1&limit=2&__proto__=x`)),
    ],
    [
      'L1-ENDP-03',
      'MUST',
      'A GET endpoint takes no body: one that is sent causes no server error',
      async (s) => expectNoFault(await s.send('GET', PATHS.status, { json: { categories: [] } })),
    ],
    [
      'L1-ENDP-04',
      'MUST',
      'Control is not done by GET',
      async (s) => {
        const answer = await s.get(PATHS.control);
        expect(answer.status >= 400 && answer.status < 500, 'a 4xx', describe(answer));
      },
    ],
  ]),
  ...section(1, 'Versioning', [
    [
      'L1-VERS-01',
      'SHOULD',
      'The registered media type application/vnd.rdcp.v1+json is accepted in Accept',
      async (s) =>
        void expectOk(
          await s.get(PATHS.status, { headers: { Accept: 'application/vnd.rdcp.v1+json, application/json;q=0.5' } }),
        ),
    ],
    [
      'L1-VERS-02',
      'MUST',
      'The registered media type in another charset than UTF-8 is not taken as it is',
      async (s) => {
        const headers = { 'Content-Type': 'application/vnd.rdcp.v1+json; charset=utf-16' };
        const body = Buffer.from('{"action":"status"}', 'utf16le');
        const answer = await s.send('POST', PATHS.control, { body, headers });
        expect(answer.status >= 400 && answer.status < 500, 'a 4xx', describe(answer));
      },
    ],
    [
      'L1-VERS-03',
      'MUST',
      'A version that does not exist has no endpoints: below /rdcp/v999/ nothing is served',
      async (s) => {
        const answer = await s.get('/rdcp/v999/status');
        expect(answer.status >= 400 && answer.status < 500, 'a 4xx', describe(answer));
      },
    ],
  ]),
];
