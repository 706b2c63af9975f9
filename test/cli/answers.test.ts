import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeKey } from '../auth/records.ts';
import { newFolder } from '../support/folder.ts';
import { ending, linesOf, rdcp, wordsOf } from './run.ts';
import { event, madeUp, service } from './service.ts';

const { key } = makeKey({ id: 'operator', scopes: ['admin'] });
const env = { RDCP_API_KEY: key };
const NOW = '2026-01-01T00:00:00.000Z';
const METRICS = { callsTotal: 7, callsPerSecond: 1 };
const DATABASE = { name: 'DATABASE', description: 'd', enabled: true, temporary: false, metrics: METRICS };
const SILENT = { callsTotal: 0, callsPerSecond: 0 };
const OFF = { ...DATABASE, enabled: false, metrics: SILENT };
const RECORDING = { id: 'a1', categories: ['RECORDED'], when: { failed: true }, expiresAt: '2099-01-01T00:00:00.000Z' };
const change = (category: string, more: object = {}) => ({
  category,
  previousState: false,
  newState: true,
  temporary: false,
  effectiveAt: NOW,
  ...more,
});
const switched = (more: object = {}) => ({ status: 'success', message: 'ok', changes: [change('SQL')], ...more });
const later = { temporary: true, expiresAt: '2026-01-01T00:05:00.000Z' };
const tenant = { isolationLevel: 'organization', scope: 'tenant-isolated', temporaryControls: 0 };
const MEMBER = { host: 'h', service: 's', lastSeenAt: NOW };
const seen = (seconds: number) => ({ lastSeenAt: new Date(Date.parse(NOW) - seconds * 1000).toISOString() });
const HOSTILE = "'; id #";
const entry = { timestamp: NOW, action: 'enable', changes: [], outcome: 'success' };

interface Shown {
  readonly what: string;
  readonly line: string;
  readonly answer: object;
  readonly status?: number;
  /** What the service is asked first: method, path and body. */
  readonly asked?: string;
  readonly code?: number;
  readonly out?: readonly RegExp[];
  readonly err?: readonly RegExp[];
}

/** Answers with the fields that some services send and others do not, by the command that shows them. */
const TABLE: readonly Shown[] = [
  {
    what: 'categories, those that are on first, their state, their rates, and no control characters of the service',
    line: 'list',
    answer: {
      categories: [
        { ...OFF, name: 'HTTP', description: 'requests\u001b[2J', metrics: METRICS },
        { ...DATABASE, name: 'SQL', otelrdcp_expiresAt: new Date(Date.now() + 3_700_000), temporary: true },
        { ...DATABASE, name: 'TLS', temporary: true },
      ],
    },
    asked: 'GET /rdcp/v1/discovery ',
    out: [
      /^CATEGORY +STATE +FOR +CALLS +CALLS\/S +DESCRIPTION\nSQL +on +1h 1m +7 +1\.0 +d\nTLS +on +a while +7 +1\.0 +d\n/,
      /\nHTTP +off +- +7 +- +requests\\u001b\[2J\n$/,
    ],
    err: [/^$/],
  },
  {
    what: 'everything of a service without categories of its own',
    line: 'list',
    answer: { categories: [{ ...OFF, name: 'NET', otelrdcp_source: { kind: 'channel', name: 'NET', count: 1 } }] },
    out: [/^NET /m],
    err: [/^$/],
  },
  {
    what: 'the calls of a fleet in which a process does not announce its own, and no number for what was not counted',
    line: 'list',
    answer: {
      otelrdcp_instances: { of: 3, counted: 2 },
      categories: [
        DATABASE,
        { ...OFF, name: 'OFF' },
        { ...OFF, name: 'WAS_ON', metrics: METRICS },
        { ...OFF, name: 'RECORDED', otelrdcp_activations: [RECORDING] },
        {
          ...{ ...OFF, name: 'WRITES', otelrdcp_activations: [RECORDING] },
          otelrdcp_recorder: { written: 8, forgotten: 0, cut: 0 },
        },
      ],
    },
    out: [
      /^DATABASE +on +- +7 +1\.0 /m,
      /^OFF +off +- +- +- /m,
      /^WAS_ON +off +- +7 +- /m,
      /^RECORDED +on +recording failures, [^,]+ +- +- /m,
      /^WRITES +on +recording failures, 8 written, [^,]+ +- +- /m,
    ],
    err: [/^CALLS of 2 of 3 processes/m],
  },
  {
    what: 'how many processes have a category that not all have',
    line: 'list',
    answer: {
      categories: [{ ...DATABASE, name: 'A', otelrdcp_instances: { having: 1, of: 3 } }],
      otelrdcp_instances: { of: 3, counted: 2, silent: 1 },
    },
    out: [/^CATEGORY.* PROCESSES /m, /^A +on .* 1 of 3 +d$/m],
    err: [/^CALLS of 2 of 3 processes, 1 not heard of: see 'rdcp fleet'$/m],
  },
  {
    what: 'the budgets of categories, who decided, and where they come from',
    line: 'list -o wide',
    answer: {
      categories: [
        { ...DATABASE, otelrdcp_budget: false, otelrdcp_default: true },
        { ...DATABASE, name: 'HTTP', otelrdcp_budget: { bytesLeft: 9 }, otelrdcp_dropped: 3 },
        {
          ...{ ...DATABASE, name: 'TLS', otelrdcp_default: false, otelrdcp_origin: 'default' },
          otelrdcp_configuredBudget: { callsPerSecond: 5, callsLeft: 2 },
          otelrdcp_source: { kind: 'pino', name: 'db', version: '10.4.0', count: 3 },
        },
      ],
    },
    out: [
      /^CATEGORY .* DECIDED BY +DEFAULT +SOURCE +DESCRIPTION$/m,
      /^DATABASE .* none +- +- +on +- +d$/m,
      /^HTTP .* 9 bytes left +3 +- +- +- +d$/m,
      /^TLS .* 5\/s, 2 calls left +- +default +off +pino db 10\.4\.0 \(3\) +d$/m,
    ],
  },
  {
    what: 'categories and calls',
    line: 'status',
    answer: {
      enabled: true,
      categories: { HTTP: false, SQL: true },
      performance: { totalCalls: 12, callsPerSecond: 0.5 },
    },
    out: [/^CATEGORY {2}STATE\nHTTP {6}off\nSQL {7}on\n\n12 debug calls counted so far, 0\.5 per second now\n$/],
  },
  {
    what: 'of how many processes a number of calls is, and that the instrumentation is disabled',
    line: 'status',
    answer: {
      ...{ enabled: false, categories: { RECORDED: false }, performance: { totalCalls: 7, callsPerSecond: 1 } },
      otelrdcp_activations: { RECORDED: [RECORDING] },
      otelrdcp_instances: { of: 3, counted: 2 },
    },
    out: [
      /^RECORDED +on +recording failures, [^,]+$/m,
      /^7 debug calls counted so far of 2 of 3 processes, 1\.0 per second/m,
    ],
    err: [/^rdcp: the instrumentation is disabled in this service$/m],
  },
  {
    what: 'tenants without a name or a change, and how many more there are',
    line: 'tenants -o wide',
    answer: {
      tenants: [
        { id: 'acme', categories: { SQL: false }, ...tenant },
        { id: 'zoo', name: 'Zoo', categories: { SQL: true, TLS: true }, ...tenant, lastChangedAt: NOW },
      ],
      otelrdcp_total: 1200,
    },
    out: [
      /^TENANT .* ISOLATION +SCOPE$/m,
      /^acme +- +- +0 +- +organization +tenant-isolated$/m,
      /^zoo +Zoo +SQL,TLS +0 +2026-01-01T00:00:00\.000Z +organization/m,
    ],
    err: [/^2 of 1200 tenants; --tenant ID shows another one$/m],
  },
  {
    what: 'an entry of the trail, where it goes on, and no control characters',
    line: 'audit --limit 1 --outcome denied',
    answer: {
      entries: [
        {
          ...{ ...entry, categories: ['SQL'], outcome: 'denied', error: 'RDCP_FORBIDDEN' },
          ...{ identity: { userId: 'ann' }, tenant: { id: 'acme' }, reason: 'slow\u009bpages' },
        },
      ],
      otelrdcp_next: HOSTILE,
    },
    asked: 'GET /rdcp/v1/audit?limit=1&outcome=denied ',
    out: [
      /^TIME +WHO +ACTION +CATEGORIES +OUTCOME +REASON\n/,
      /\n2026-01-01T00:00:00\.000Z +ann \(acme\) +enable +SQL +denied RDCP_FORBIDDEN +slow\\u009bpages\n$/,
    ],
    err: [/^More entries: --cursor ''\\''; id #'$/m],
  },
  {
    what: 'audit entries of a client, without an identity, about nothing, of a tenant, and with a reason',
    line: 'audit -o wide --category sql',
    answer: {
      entries: [
        { ...entry, identity: { clientId: 'ci', method: 'api-key' }, categories: [], tenant: { id: 'acme' } },
        { ...entry, identity: {}, categories: ['SQL'], outcome: 'failed', error: 'RDCP_FORBIDDEN', reason: 'why' },
      ],
    },
    out: [
      /^TIME .* CLIENT +METHOD +ADDRESS +REQUEST +REASON$/m,
      / ci \(acme\) +enable +- +success +ci +api-key +- +- +-$/m,
      / - +enable +SQL +failed RDCP_FORBIDDEN +- +- +- +- +why$/m,
    ],
  },
  {
    what: 'that a trail of one tenant is not the whole trail',
    line: 'audit verify',
    answer: { entries: [], tenant: { id: 'acme', scope: 'tenant-isolated', isolationLevel: 'organization' } },
    code: 2,
    err: [/^rdcp: this credential shows the trail of some tenants only: use a credential without a tenant\n$/],
  },
  {
    what: 'a health that only says how it is',
    line: 'health',
    answer: { status: 'degraded', otelrdcp_emit: { to: 'elsewhere', reason: 'newer' } },
    out: [/^degraded\ndebug lines to elsewhere \(newer\)\n$/],
  },
  {
    what: 'a service that is unhealthy as a refusal',
    line: 'health',
    answer: { status: 'unhealthy', checks: [{ name: 'store', status: 'fail', duration: '3ms' }] },
    status: 503,
    code: 1,
    out: [/^unhealthy\n\nCHECK {2}STATUS {2}TOOK\nstore {2}fail {4}3ms\n$/],
  },
  {
    what: 'a check of health with a state of its own',
    line: 'health',
    answer: {
      status: 'healthy',
      checks: [
        { name: 'disk', status: 'unknown', duration: '1 ms' },
        { name: 'store', status: 'warn', duration: '2 ms', otelrdcp_reason: 'slow' },
      ],
    },
    out: [/^CHECK +STATUS +TOOK +REASON$/m, /^disk +unknown +1 ms +-$/m, /^store +warn +2 ms +slow$/m],
  },
  {
    what: 'a metric in a unit that is not known here',
    line: 'metrics',
    answer: { metrics: { heat: { value: 1.25, unit: 'kelvin', timestamp: NOW } }, categories: {} },
    out: [/^heat +1\.3 kelvin\n$/m],
  },
  {
    what: 'processes, how far each is, when it was heard of last, and that one is silent, which counts',
    line: 'fleet',
    answer: {
      revision: 12,
      instances: [
        { ...MEMBER, id: 'one', pid: 7, version: '1.4', applied: 12, pending: false, ...seen(0.2) },
        { ...MEMBER, id: 'two', pid: 8, applied: 9, pending: true, ...seen(2.5) },
        { ...MEMBER, id: 'three', pid: 9, pending: true },
        { ...MEMBER, id: 'four', pid: 10, pending: false },
      ],
      lost: [{ ...MEMBER, id: 'five', pid: 11, applied: 3, pending: true }],
    },
    asked: 'GET /rdcp/v1/fleet ',
    out: [
      /^PROCESS +SERVICE +VERSION +APPLIED +BEHIND +LAST SEEN\nh:7 +s +1\.4 +12 +0 +0\.2 s ago\nh:8 +s +- +9 +3 +2\.5 s ago\n/,
      /^h:9 +s +- +- +\? +0\.0 s ago\nh:10 +s +- +- +- +0\.0 s ago\nh:11 +s +- +3 +silent +0\.0 s ago\n/m,
      /^revision 12, applied by 2 of 5 processes$/m,
    ],
  },
  {
    what: 'the categories of a process that not all have, and of a fleet of one no count',
    line: 'fleet -o wide',
    answer: {
      revision: 4,
      instances: [{ ...MEMBER, id: 'p', pid: 1, applied: 4, pending: false, categories: ['A', 'B'] }],
    },
    out: [/^PROCESS +ID .*LAST SEEN +NOT ALL HAVE$/m, /0\.0 s ago +A, B$/m, /^revision 4$/m],
  },
  {
    what: 'that a change was partly applied, for which it asked with all of its options',
    line: "enable SQL HTTP --for 5m --reason 'slow pages' --tenant acme",
    answer: switched({ status: 'partial', message: 'here alone', changes: [change('SQL', later)] }),
    asked:
      'POST /rdcp/v1/control {"action":"enable","categories":["SQL","HTTP"],"options":{"temporary":true,"duration":"5m","reason":"slow pages"}}',
    code: 3,
    out: [/^SQL on for 5m, until \d{4}-\d\d-\d\d \d\d:\d\d:00(?:Z|[+-][\d:]+)\n$/],
    err: [/^rdcp: partially applied: here alone\n$/],
  },
  ...[
    ['disable SQL', '{"action":"disable","categories":["SQL"]}'],
    ['toggle SQL', '{"action":"toggle","categories":["SQL"],"options":{"temporary":true,"duration":"15m"}}'],
    ['reset SQL', '{"action":"reset","categories":["SQL"]}'],
    ["reset --all --yes --reason 'incident over'", '{"action":"reset","options":{"reason":"incident over"}}'],
  ].map(([line = '', body]) => {
    return {
      what: `its answer to ${line}`,
      line,
      answer: switched({ changes: [] }),
      asked: `POST /rdcp/v1/control ${body}`,
    };
  }),
  ...(
    [
      ['acme', 'tenant-isolated', 'for tenant acme alone\n'],
      ['ac\u009bme', 'tenant-isolated', 'for tenant ac\\\\u009bme alone\n'],
      ['acme', 'global', 'for everybody, not for tenant acme alone: this service has one state for all tenants\n'],
      ['global', 'global', ''],
    ] as const
  ).map(([id, scope, said]) => ({
    what: `for whom it switched, with the scope ${scope} of ${JSON.stringify(id)}`,
    line: 'enable SQL --tenant acme',
    answer: switched({ tenant: { ...tenant, id, scope } }),
    out: [new RegExp(`^SQL on without an end\n${said}$`)],
  })),
  {
    what: 'a change in a fleet of one without a count',
    line: 'enable SQL --permanent',
    answer: switched({ otelrdcp_fleet: { instances: 1, applied: 1, pending: [] } }),
    out: [/^SQL on without an end\n$/],
  },
  {
    what: 'when many changes end, and which processes have not applied them',
    line: 'enable A B C D E F -o wide',
    answer: switched({
      changes: [...'ABCDEF'].map((name) => change(name, later)).concat(change('G')),
      otelrdcp_fleet: { instances: 3, applied: 1, pending: ['p1', 'p2'] },
    }),
    out: [
      /^G on without an end$/m,
      /^A, B, C, D, E, F on for 5m, until /m,
      /^applied by 1 of 3 processes; still pending: p1, p2$/m,
    ],
  },
  {
    what: 'which process has not applied a change, by its host, and since when it is not heard of',
    line: 'disable SQL',
    answer: switched({
      otelrdcp_fleet: { revision: 3, instances: 3, applied: 1, pending: ['one', 'two'] },
      instances: [{ id: 'one', host: 'east-1', pid: 7 }],
      lost: [{ id: 'two', host: 'east\u001b[2J', pid: 8, lastSeenAt: '2026-01-31T14:05:12.000Z' }],
    }),
    out: [
      /\napplied by 1 of 3 processes; still pending: east-1:7, east\\u001b\[2J:8 \(not heard of since [\d: -]+(?:Z|[+-][\d:]+)\)\n/,
    ],
  },
  {
    what: 'the same to programs, by id',
    line: 'disable SQL -o json',
    answer: switched({ otelrdcp_fleet: { pending: ['one'] }, instances: [{ id: 'one', host: 'east-1', pid: 7 }] }),
    out: [/"pending": \[\s+"one"\s+\]/],
  },
  {
    what: 'a change that failed, as a refusal',
    line: 'disable A',
    answer: { status: 'failed', message: 'no', changes: [change('A', { newState: false, ...later })] },
    code: 1,
    out: [/^A off for 5m, until /m],
  },
  {
    what: 'that a service has no dry run, before anything is sent',
    line: 'enable A --dry-run',
    answer: { endpoints: {} },
    code: 1,
    err: [/^rdcp: this service has no dry run, so nothing was sent\n$/],
  },
  {
    what: 'that no category of this name is known, in a service that does not say which',
    line: 'enable A',
    answer: { error: { code: 'RDCP_CATEGORY_NOT_FOUND', message: 'Unknown category' } },
    status: 404,
    code: 1,
    err: [/^rdcp: RDCP_CATEGORY_NOT_FOUND: Unknown category; see 'rdcp list'/],
  },
  {
    what: 'the details of a refusal that are no text',
    line: 'list',
    answer: {
      error: { code: 'RDCP_FORBIDDEN', message: 'No', details: { limit: 5, of: { a: 1 }, names: ['x', 'y'] } },
    },
    status: 403,
    code: 1,
    err: [/limit: 5; of: \{"a":1\}; names: x, y/],
  },
  {
    what: 'what a credential may do, in words, where a change goes beyond it',
    line: 'enable HTTP',
    answer: {
      error: {
        code: 'RDCP_FORBIDDEN',
        message: 'categories must match DB_* for this credential; HTTP does not',
        details: {
          reason: 'approval_required',
          field: 'categories',
          allow: { categories: ['DB_*'], maxDuration: '5m' },
          approval: { id: 'cc1bdca0cee0', expiresAt: later.expiresAt },
        },
      },
    },
    status: 403,
    code: 1,
    err: [/; HTTP does not \(it may do DB_\*: for at most 5m\)\n$/],
  },
  {
    what: 'a header that is pasted as one word, whatever the ticket holds',
    line: 'request DATABASE',
    answer: { otelrdcp_request: { baggage: `rdcp.debug=${HOSTILE}`, expiresAt: later.expiresAt } },
    out: [/^curl -H 'baggage: rdcp\.debug='\\''; id #' URL\n$/],
  },
  {
    what: 'how to end an activation, whatever its id is',
    line: 'enable DATABASE -m user.id=42',
    answer: { action: 'enable', categories: [], changes: [], otelrdcp_activation: { ...RECORDING, id: HOSTILE } },
    out: [/ \(rdcp end --id ''\\''; id #'\)\n$/],
  },
  {
    what: 'how to undo what is named as the service likes',
    line: 'disable DATABASE',
    answer: {
      action: 'disable',
      changes: [change(HOSTILE, { newState: false })],
      tenant: { ...tenant, id: HOSTILE },
    },
    out: [/: rdcp reset ''\\''; id #' --tenant ''\\''; id #'$/m],
  },
];

describe('what a service answers, or leaves out', () => {
  for (const { what, line, answer, status = 200, asked, code = 0, out = [], err = [] } of TABLE) {
    it(`rdcp ${line.split(' ')[0]} shows ${what}`, async (t) => {
      const { url, seen } = await service(t, answer, status);
      const shown = await rdcp([...wordsOf(line), '--url', url], { env });
      assert.equal(shown.code, code, shown.stderr);
      for (const pattern of out) assert.match(shown.stdout, pattern);
      for (const pattern of err) assert.match(shown.stderr, pattern);
      const [first] = seen;
      if (asked !== undefined) assert.equal(`${first?.target} ${first?.body}`, asked);
      if (line.includes('--tenant')) assert.equal(first?.headers['x-rdcp-tenant-id'], 'acme');
    });
  }
});

/** A service that sends these events, each as its name and data, to every reader of a stream. */
function streaming(t: TestContext, events: readonly (readonly [string, object])[]): Promise<string> {
  return madeUp(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(events.map(([name, data]) => event(name, data)).join(''));
  });
}

describe('rdcp tail of what a fleet sends', () => {
  const open = { categories: ['SQL', 'TLS'], instances: 2, expiresAt: NOW, tenantKnown: false };
  const line = { timestamp: NOW, category: 'SQL', message: 'done', instance: '0123456789abcdef' };

  it('-o wide shows the process, its source and the trace; what came and was dropped is summed up', async (t) => {
    const url = await streaming(t, [
      ['start', open],
      ['line', { ...line, attributes: { rows: 1 }, tenant: 'acme', source: 'db.ts:3', traceId: 't1', spanId: 's1' }],
      ['line', { ...line, instance: 'fedcba9876543210', traceId: 't2' }],
      ['dropped', { count: 4 }],
      ['instance', { id: 'p2', state: 'left' }],
      ['end', { reason: 'expired', dropped: 5 }],
    ]);
    const { code, stdout, stderr } = await rdcp(['tail', 'sql', 'tls', '-o', 'wide', '--url', url], { env });
    assert.equal(code, 0, stderr);
    const [first = '', second = ''] = stdout.split('\n');
    assert.match(first, /\.000Z SQL done rows=1 acme 01234567 db\.ts:3 trace_id=t1 span_id=s1$/);
    assert.match(second, /\.000Z SQL done fedcba98 trace_id=t2 span_id=-$/);
    assert.match(stderr, /^Tailing SQL, TLS in 2 processes until /);
    assert.match(stderr, /^rdcp: Unknown tenant /m);
    assert.match(
      stderr,
      /^4 lines were dropped\.\nProcess p2 left\.\nEnded: the time is over\.\n2 lines from 2 processes, 5/m,
    );
  });

  for (const [reason, code, note] of [
    ['revoked', 1, 'Ended: the credential has expired or was revoked.'],
    ['shutdown', 1, 'Ended: the service is shutting down.'],
    ['budget', 0, 'Ended: all requested lines have arrived.'],
    ['moonrise', 1, 'Ended: moonrise.'],
  ] as const) {
    it(`ends with ${code} when the server says that it ends for ${reason}`, async (t) => {
      const url = await streaming(t, [
        ['start', { ...open, instances: 1 }],
        ['line', line],
        ['end', { reason, dropped: 0 }],
      ]);
      const shown = await rdcp(['tail', 'sql', '--url', url], { env });
      assert.equal(shown.code, code, shown.stderr);
      assert.match(shown.stdout, /^(?:\S+ ){1,2}SQL done 01234567\n$/);
      assert.ok(shown.stderr.includes(`\n${note}\n1 line from 1 process, 0 dropped.\n`), shown.stderr);
    });
  }
});

it('rdcp watch names who switched a category by the changes that were made', async (t) => {
  const who = (identity: object, category: string, outcome = 'success') => ({
    ...entry,
    identity,
    outcome,
    changes: [change(category)],
  });
  const { url } = await service(t, {
    categories: ['A', 'B', 'C'].map((name) => ({ ...DATABASE, name })),
    entries: [
      who({ userId: 'mallory' }, 'A', 'denied'),
      who({ clientId: 'ci' }, 'A', 'partial'),
      who({ userId: 'alice' }, 'A'),
      who({ userId: 'bob' }, 'B'),
      who({}, 'C'),
    ],
  });
  const { code, stdout } = await rdcp(['watch', '--url', url], { env, ...ending(/ C on/) });
  assert.equal(code, 0);
  assert.deepEqual(
    linesOf(stdout).map((line) => line.replace(/^\S+ /, '')),
    ['A on by ci', 'B on by bob', 'C on'],
  );
});

it('rdcp token of a service without sessions says that no refresh token came, and keeps the one it has', async (t) => {
  const issued = { access_token: 'a.b.c', token_type: 'Bearer', expires_in: 300, scope: 'status' };
  const { url } = await service(t, issued);
  const file = join(newFolder(t), 'session');
  const created = await rdcp(['token', 'create', '--url', url, '--refresh-file', file], { env });
  assert.deepEqual([created.code, created.stdout], [1, 'a.b.c\n']);
  assert.match(created.stderr, /^rdcp: the service sent no refresh token$/m);
  writeFileSync(file, 'kept\n', { mode: 0o600 });
  const refreshed = await rdcp(['token', 'refresh', '--url', url, '--refresh-file', file]);
  assert.deepEqual([refreshed.code, refreshed.stdout], [0, 'a.b.c\n'], refreshed.stderr);
  assert.equal(readFileSync(file, 'utf8'), 'kept\n');
});

it('help in front of a command is --help behind it', async () => {
  const [before, behind] = await Promise.all([rdcp(['help', 'tail']), rdcp(['tail', '--help'])]);
  assert.equal(before.code, 0);
  assert.match(before.stdout, /^Usage: rdcp tail /);
  assert.equal(before.stdout, behind.stdout);
});
