import { describe, expectOk, expectRefusal } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { type Answer, exchange, openSocket } from '../http.ts';
import { retryAfter } from '../pacing.ts';
import { credentialHeaders, evidence, PATHS, type Session } from '../session.ts';
import { readCategory, subject } from '../subject.ts';
import { step } from '../switching.ts';

/** Beyond the limit by a sixth: enough for a server that counts in buckets. */
const ATTEMPTS = 70;
const REQUEST_TIMEOUT_MS = 30_000;

/** A control request that is not paced and not repeated: the refusal is what is wanted. */
function controlNow(session: Session, clientId: string): Promise<Answer> {
  const { main } = session.credentials;
  const headers: [string, string][] = [
    ['Accept', 'application/json'],
    ['Content-Type', 'application/json'],
    ['X-RDCP-Client-ID', clientId],
    ...(main === undefined ? [] : credentialHeaders(main)),
  ];
  return subject(session).then(({ name }) =>
    exchange(session.target, {
      method: 'POST',
      path: PATHS.control,
      headers,
      body: JSON.stringify({ action: 'status', categories: [name] }),
    }),
  );
}

/** Control requests until one is refused for their rate, then one more under another client's name. */
const exhausted = evidence(async (session) => {
  for (let sent = 1; sent <= ATTEMPTS; sent++) {
    const answer = await controlNow(session, 'rdcp-conformance');
    if (answer.status === 429) return { sent, refused: answer, renamed: await controlNow(session, 'somebody-else') };
  }
  return { sent: ATTEMPTS, refused: undefined, renamed: undefined };
});

async function refusedForRate(session: Session): Promise<Answer> {
  const { refused } = await exhausted(session);
  return refused ?? skip(`the server took ${ATTEMPTS} control requests without refusing one`);
}

export const limitChecks = [
  ...section(1, 'Limits', [
    [
      'L1-LIMI-01',
      'MAY',
      'A control request that is repeated with its X-RDCP-Request-ID takes effect once',
      async (s) => {
        const { name } = await subject(s);
        const before = (await step(s, { action: 'disable' })).after;
        const headers = { 'X-RDCP-Request-ID': `conformance-repeat-${crypto.randomUUID()}` };
        const toggle = { action: 'toggle', categories: [name] };
        expectOk(await s.control(toggle, { headers }));
        const again = await s.control(toggle, { headers });
        const after = await readCategory(s, name);
        if (after.enabled === before.enabled && again.status === 200)
          skip('the server does not tell repeated requests');
        expect(after.enabled, `${name} toggled once`, after);
      },
    ],
  ]),
  ...section(
    1,
    'Limits',
    [
      [
        'L1-LIMI-02',
        'SHOULD',
        'Control requests of one identity are limited to about 60 in a minute',
        async (s) => {
          const { refused, sent } = await exhausted(s);
          expect(refused !== undefined, `429 within ${ATTEMPTS} requests`, `${sent} requests were taken`);
        },
      ],
      [
        'L1-LIMI-03',
        'MUST',
        'Too many requests are refused with 429 RDCP_RATE_LIMITED',
        async (s) => void expectRefusal(await refusedForRate(s), [429], ['RDCP_RATE_LIMITED']),
      ],
      [
        'L1-LIMI-04',
        'MUST',
        'The refusal carries Retry-After, in seconds or as a date',
        async (s) => {
          const answer = await refusedForRate(s);
          expect(retryAfter(answer) !== undefined, 'Retry-After', show(answer.headers['retry-after']));
        },
      ],
      [
        'L1-LIMI-05',
        'SHOULD',
        'The limit holds for the authenticated identity, whatever client it says it is',
        async (s) => {
          await refusedForRate(s);
          const { renamed } = await exhausted(s);
          expect(
            renamed?.status === 429,
            '429 for the same credential',
            renamed === undefined ? '' : describe(renamed),
          );
        },
      ],
      [
        'L1-LIMI-06',
        'SHOULD',
        'Retry-After is not longer than the minute in which requests are counted',
        async (s) => {
          const seconds = retryAfter(await refusedForRate(s)) ?? 0;
          expect(seconds <= 60, 'at most 60 s', `${seconds} s`);
        },
      ],
      [
        'L1-LIMI-07',
        'SHOULD',
        'A request that is never completed is given up after about 30 seconds',
        async (s) => {
          const waited = await timeUntilClosed(s, REQUEST_TIMEOUT_MS + 10_000);
          expect(waited !== undefined, 'the connection closed within 40 s', 'it is still open');
        },
      ],
    ],
    { exhaust: true },
  ),
];

/** Sends half a request and waits for the server to close. `undefined`: it did not. */
export async function timeUntilClosed({ target }: Session, patienceMs: number): Promise<number | undefined> {
  const socket = await openSocket(target);
  const started = performance.now();
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const timer = setTimeout(() => resolve(undefined), patienceMs);
  socket.on('error', () => resolve(performance.now() - started));
  socket.on('close', () => resolve(performance.now() - started));
  socket.resume();
  socket.write(`POST ${PATHS.control} HTTP/1.1\r\nHost: ${target.url.host}\r\nContent-Length: 100\r\n\r\n{`);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
