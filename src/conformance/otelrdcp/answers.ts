import { hash } from 'node:crypto';
import { expectAt, expectOk, expectRefusal, locate, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, isObject, type JsonObject, show, skip } from '../expectation.ts';
import { header } from '../http.ts';
import { rateLimit } from '../pacing.ts';
import { trail } from '../rdcp/audit.ts';
import { evidence, PATHS, type Session } from '../session.ts';
import { capability, discovery, health, status, subject } from '../subject.ts';
import { REASON, switching } from '../switching.ts';
import { ARRAY, IDENTIFIER, NON_NEGATIVE, oneOf, TEXT, TIMESTAMP, type ValueType } from '../value-types.ts';

const HASH: ValueType = {
  is: '64 lower-case hex digits',
  test: (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value),
};
const COUNT: ValueType = {
  is: 'a whole number from 1',
  test: (value) => Number.isSafeInteger(value) && Number(value) > 0,
};

async function entries(session: Session): Promise<readonly JsonObject[]> {
  const list = expectOk(await trail(session)).entries;
  expect(Array.isArray(list) && list.length > 0, 'entries in the trail', show(list));
  return list.filter(isObject);
}

async function auditQuery(session: Session, query: string) {
  await trail(session);
  const { admin } = session.credentials;
  return session.get(`${PATHS.audit}?${query}`, admin === undefined ? {} : { as: admin });
}

/** RFC 8785: names sorted by UTF-16 units; numbers and strings as ECMAScript writes them. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value).sort();
  return `{${fields.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

function hashOf(entry: JsonObject): string {
  const { hash: _, ...compliance } = isObject(entry.compliance) ? entry.compliance : {};
  return hash('sha256', canonical({ ...entry, compliance }), 'hex');
}

const metrics = evidence((session) => session.get(PATHS.metrics));

export const answerDecisions = [
  ...section(
    1,
    'Answers',
    [
      [
        'W-ANSW-01',
        'MUST',
        'Discovery lists categories sorted by name',
        async (s) => {
          const names = locate((await discovery(s)).body, 'categories[].name').map(({ value }) => String(value));
          expect(names.join() === [...names].sort().join(), 'names in order', show(names));
        },
      ],
      [
        'W-ANSW-02',
        'MUST',
        'Health is healthy, degraded or unhealthy, and a check pass, warn or fail',
        async (s) => {
          const { body } = await health(s);
          expectAt(body, 'status', oneOf('healthy', 'degraded', 'unhealthy'));
          expectAt(body, 'checks[].status', oneOf('pass', 'warn', 'fail'));
        },
      ],
      [
        'W-ANSW-03',
        'MUST',
        'Health checks the store and the audit trail',
        async (s) => {
          const names = locate((await health(s)).body, 'checks[].name').map(({ value }) => String(value));
          const both = names.some((name) => /store/i.test(name)) && names.some((name) => /audit/i.test(name));
          expect(both, 'checks of the store and the audit trail', show(names));
        },
      ],
      [
        'W-ANSW-04',
        'MUST',
        'Metrics of the process: calls and temporary controls at least, each measured',
        async (s) => {
          const body = expectOk(await metrics(s));
          for (const name of ['callsTotal', 'callsPerSecond', 'temporaryControls']) {
            expectAt(body, `metrics.${name}.value`, NON_NEGATIVE);
          }
          expectAt(body, 'metrics{}.measured', oneOf(true));
          expectAt(body, 'metrics{}.timestamp', TIMESTAMP);
        },
      ],
      [
        'W-ANSW-05',
        'MUST',
        'Metrics of every category that discovery lists',
        async (s) => {
          const body = expectOk(await metrics(s));
          const { name } = await subject(s);
          expectAt(body, `categories.${name}.callsTotal.measured`, oneOf(true));
          expectAt(body, 'categories{}.callsTotal.unit', oneOf('count'));
          expectAt(body, 'categories{}.callsPerSecond.unit', oneOf('per_second'));
        },
      ],
      [
        'W-ANSW-06',
        'MUST',
        'Without tenants no answer carries a tenant',
        async (s) => {
          if (await capability(s, 'multiTenancy')) skip('the server has tenants');
          for (const answer of [await discovery(s), await status(s), (await switching(s)).enable.answer]) {
            expect(valueAt(answer.body, 'tenant') === undefined, `${answer.request} without tenant`, show(answer.body));
          }
        },
      ],
      [
        'W-ANSW-07',
        'MUST',
        'No answer may be kept by a cache',
        async (s) => {
          const control = header(await discovery(s), 'cache-control');
          expect(/no-store/i.test(control ?? ''), 'Cache-Control: no-store', show(control));
        },
      ],
    ],
    { profile: 'otelrdcp' },
  ),
  ...section(
    1,
    'Rates',
    [
      [
        'W-RATE-01',
        'MUST',
        'Control and reads carry RateLimit and RateLimit-Policy',
        async (s) => {
          for (const answer of [(await switching(s)).enable.answer, await discovery(s), await status(s)]) {
            const told = header(answer, 'ratelimit');
            const policy = header(answer, 'ratelimit-policy');
            expect(/^"[^"]+";.*\br=\d+/.test(told ?? ''), `${answer.request} with RateLimit "name";r=…`, show(told));
            expect(/^"[^"]+";.*\bq=\d+.*\bw=60/.test(policy ?? ''), 'RateLimit-Policy "name";q=…;w=60', show(policy));
          }
        },
      ],
      [
        'W-RATE-02',
        'MUST',
        'A control request uses one up',
        async (s) => {
          const { name } = await subject(s);
          const remaining: (number | undefined)[] = [];
          const fewer = () => (remaining.at(-1) ?? Infinity) < (remaining.at(-2) ?? -1);
          // Earlier requests may leave the rolling minute between two.
          while (!fewer() && remaining.length < 6) {
            remaining.push(rateLimit(await s.control({ action: 'status', categories: [name] }))?.remaining);
          }
          expect(fewer(), 'fewer remaining after a request', show(remaining));
        },
      ],
      [
        'W-RATE-03',
        'MUST',
        'Reads and control requests are counted apart',
        async (s) => {
          const read = rateLimit(await s.get(PATHS.status));
          const { enable } = await switching(s);
          const policies = [header(enable.answer, 'ratelimit-policy'), header(await status(s), 'ratelimit-policy')];
          expect(read !== undefined && policies[0] !== policies[1], 'a policy each', show(policies));
        },
      ],
    ],
    { profile: 'otelrdcp' },
  ),
  ...section(
    1,
    'Audit trail',
    [
      [
        'W-AUDT-01',
        'MUST',
        'An entry has id, timestamp, action, outcome, identity and a sealed position in its chain',
        async (s) => {
          const of = { entries: await entries(s) };
          expectAt(of, 'entries[].id', TEXT);
          expectAt(of, 'entries[].timestamp', TIMESTAMP);
          expectAt(of, 'entries[].action', TEXT);
          expectAt(of, 'entries[].categories', ARRAY);
          expectAt(of, 'entries[].changes', ARRAY);
          expectAt(of, 'entries[].outcome', oneOf('success', 'partial', 'failed', 'denied'));
          expectAt(of, 'entries[].compliance.instanceId', IDENTIFIER);
          expectAt(of, 'entries[].compliance.sequence', COUNT);
          expectAt(of, 'entries[].compliance.previousHash', HASH);
          expectAt(of, 'entries[].compliance.hash', HASH);
          expectAt(of, 'entries[].compliance.retainUntil', TIMESTAMP);
        },
      ],
      [
        'W-AUDT-02',
        'MUST',
        'The newest entry comes first',
        async (s) => {
          const times = (await entries(s)).map(({ timestamp }) => String(timestamp));
          expect(times.join() === [...times].sort().reverse().join(), 'times that fall', show(times));
        },
      ],
      [
        'W-AUDT-03',
        'MUST',
        'A change is kept with user, reason and request id',
        async (s) => {
          await entries(s);
          const { name } = await subject(s);
          const answer = await auditQuery(s, `action=disable&category=${name}&limit=1000`);
          const kept = locate(expectOk(answer), 'entries[]').map(({ value }) => value);
          const own = kept.find((entry) => valueAt(entry, 'reason') === REASON);
          expect(own !== undefined, `an entry with the reason ${REASON}`, `${kept.length} entries without`);
          expectAt(own, 'identity.userId', TEXT);
          expectAt(own, 'requestId', IDENTIFIER);
          expectAt(own, 'changes[].category', oneOf(name));
        },
      ],
      [
        'W-AUDT-04',
        'MUST',
        'The hash of every entry is that of its content',
        async (s) => {
          const wrong = (await entries(s)).find((entry) => hashOf(entry) !== valueAt(entry, 'compliance.hash'));
          expect(wrong === undefined, 'the SHA-256 of the canonical JSON', show(wrong));
        },
      ],
      [
        'W-AUDT-05',
        'MUST',
        'Every entry names the hash of the one before it in its chain',
        async (s) => {
          const list = await entries(s);
          for (const entry of list) {
            const { instanceId, sequence, previousHash } = isObject(entry.compliance) ? entry.compliance : {};
            const before = list.find(
              (one) =>
                valueAt(one, 'compliance.instanceId') === instanceId &&
                valueAt(one, 'compliance.sequence') === Number(sequence) - 1,
            );
            if (before === undefined) continue;
            expect(previousHash === valueAt(before, 'compliance.hash'), show(valueAt(before, 'compliance')), entry);
          }
        },
      ],
      [
        'W-AUDT-06',
        'MUST',
        'limit bounds a page, and cursor reads on where it ended',
        async (s) => {
          const first = expectOk(await auditQuery(s, 'limit=1&outcome=success'));
          expect(Array.isArray(first.entries) && first.entries.length === 1, 'one entry', show(first.entries));
          const cursor = encodeURIComponent(String(first.otelrdcp_next));
          const next = expectOk(await auditQuery(s, `limit=1&outcome=success&cursor=${cursor}`));
          const [a, b] = [valueAt(first.entries[0], 'id'), locate(next, 'entries[].id')[0]?.value];
          expect(a !== b && typeof b === 'string', 'another entry', show(b));
        },
      ],
      [
        'W-AUDT-07',
        'MUST',
        'Parameters that are wrong are refused with 400',
        async (s) => {
          const bad = [
            'limit=0',
            'limit=1001',
            'limit=ten',
            'since=yesterday',
            'outcome=great',
            'colour=blue',
            'action=explode',
          ];
          for (const query of bad) {
            expectRefusal(await auditQuery(s, query), [400], ['RDCP_MALFORMED_REQUEST']);
          }
        },
      ],
      [
        'W-AUDT-08',
        'MUST',
        'A refused control request is an entry, with the code and the outcome denied or failed',
        async (s) => {
          const { name } = await subject(s);
          const { readonly } = s.credentials;
          if (readonly === undefined) skip('no credential was given (--readonly-key or --readonly-token)');
          await trail(s);
          const id = `conformance-denied-${crypto.randomUUID()}`;
          const headers = { 'X-RDCP-Request-ID': id };
          await s.control({ action: 'enable', categories: [name] }, { as: readonly, headers });
          const denied = locate(expectOk(await auditQuery(s, 'outcome=denied&limit=100')), 'entries[]');
          const own = denied.map(({ value }) => value).find((entry) => valueAt(entry, 'requestId') === id);
          expect(own !== undefined, `an entry with the request id ${id}`, `${denied.length} others`);
          expectAt(own, 'error', oneOf('RDCP_FORBIDDEN'));
        },
      ],
    ],
    { profile: 'otelrdcp' },
  ),
];
