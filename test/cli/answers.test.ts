import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeKey } from '../auth/records.ts';
import { newFolder } from '../support/folder.ts';
import { ending, jsonLines, linesOf, rdcp } from './run.ts';
import { event, madeUp, service } from './service.ts';

const { key } = makeKey({ id: 'operator', scopes: ['admin'] });
const env = { RDCP_API_KEY: key };
const NOW = '2026-01-01T00:00:00.000Z';
const METRICS = { callsTotal: 7, callsPerSecond: 1 };
const DATABASE = { name: 'DATABASE', description: 'd', enabled: true, temporary: false, metrics: METRICS };
const SILENT = { callsTotal: 0, callsPerSecond: 0 };
const RECORDING = { id: 'a1', categories: ['RECORDED'], when: { failed: true }, expiresAt: '2099-01-01T00:00:00.000Z' };
const change = (category: string, more: object = {}) => ({
  category,
  previousState: false,
  newState: true,
  temporary: false,
  effectiveAt: NOW,
  ...more,
});
const later = { temporary: true, expiresAt: '2026-01-01T00:05:00.000Z' };
const tenant = { isolationLevel: 'organization', scope: 'tenant-isolated', temporaryControls: 0 };
const MEMBER = { host: 'h', service: 's', lastSeenAt: NOW };
const HOSTILE = "'; id #";
const entry = { timestamp: NOW, action: 'enable', changes: [], outcome: 'success' };

interface Shown {
  readonly what: string;
  readonly args: readonly string[];
  readonly answer: object;
  readonly status?: number;
  readonly code?: number;
  readonly stdout?: readonly RegExp[];
  readonly stderr?: readonly RegExp[];
}

/** Fields that some services send and others do not, by the command that shows them. */
const TABLE: readonly Shown[] = [
  {
    what: 'the calls of a fleet in which a process does not announce its own, and no number for what was not counted',
    args: ['list'],
    answer: {
      otelrdcp_instances: { of: 3, counted: 2 },
      categories: [
        DATABASE,
        { ...DATABASE, name: 'OFF', enabled: false, metrics: SILENT },
        { ...DATABASE, name: 'WAS_ON', enabled: false },
        { ...DATABASE, name: 'RECORDED', enabled: false, metrics: SILENT, otelrdcp_activations: [RECORDING] },
        {
          ...{ ...DATABASE, name: 'WRITES', enabled: false, metrics: SILENT, otelrdcp_activations: [RECORDING] },
          otelrdcp_recorder: { written: 8, forgotten: 0, cut: 0 },
        },
      ],
    },
    stdout: [
      /^DATABASE +on +- +7 +1\.0 /m,
      /^OFF +off +- +- +- /m,
      /^WAS_ON +off +- +7 +- /m,
      /^RECORDED +on +recording failures, [^,]+ +- +- /m,
      /^WRITES +on +recording failures, 8 written, [^,]+ +- +- /m,
    ],
    stderr: [/^CALLS of 2 of 3 processes/m],
  },
  {
    what: 'of how many processes a number of calls is',
    args: ['status'],
    answer: {
      enabled: true,
      categories: { RECORDED: false },
      performance: { totalCalls: 7, callsPerSecond: 1 },
      otelrdcp_activations: { RECORDED: [RECORDING] },
      otelrdcp_instances: { of: 3, counted: 2 },
    },
    stdout: [
      /^RECORDED +on +recording failures, [^,]+$/m,
      /^7 debug calls counted so far of 2 of 3 processes, 1\.0 per second/m,
    ],
  },
  {
    what: 'tenants without a name or a change, and how many more there are',
    args: ['tenants', '-o', 'wide'],
    answer: {
      tenants: [
        { id: 'acme', categories: { SQL: false }, ...tenant },
        { id: 'zoo', name: 'Zoo', categories: { SQL: true, TLS: true }, ...tenant, lastChangedAt: NOW },
      ],
      otelrdcp_total: 1200,
    },
    stdout: [
      /^TENANT .* ISOLATION +SCOPE$/m,
      /^acme +- +- +0 +- +organization +tenant-isolated$/m,
      /^zoo +Zoo +SQL,TLS +0 +2026-01-01T00:00:00\.000Z +organization/m,
    ],
    stderr: [/^2 of 1200 tenants; --tenant ID shows another one$/m],
  },
  {
    what: 'audit entries of a client, without an identity, about nothing, of a tenant, and with a reason',
    args: ['audit', '-o', 'wide', '--category', 'sql'],
    answer: {
      entries: [
        { ...entry, identity: { clientId: 'ci', method: 'api-key' }, categories: [], tenant: { id: 'acme' } },
        { ...entry, identity: {}, categories: ['SQL'], outcome: 'failed', error: 'RDCP_FORBIDDEN', reason: 'why' },
      ],
    },
    stdout: [
      /^TIME .* CLIENT +METHOD +ADDRESS +REQUEST +REASON$/m,
      / ci \(acme\) +enable +- +success +ci +api-key +- +- +-$/m,
      / - +enable +SQL +failed RDCP_FORBIDDEN +- +- +- +- +why$/m,
    ],
  },
  {
    what: 'the budgets of categories and where they come from',
    args: ['list', '-o', 'wide'],
    answer: {
      categories: [
        { ...DATABASE, otelrdcp_budget: false, otelrdcp_default: true },
        { ...DATABASE, name: 'HTTP', otelrdcp_budget: { bytesLeft: 9 }, otelrdcp_dropped: 3 },
        {
          ...DATABASE,
          name: 'TLS',
          otelrdcp_configuredBudget: { callsPerSecond: 5, callsLeft: 2 },
          otelrdcp_source: { kind: 'pino', name: 'db', count: 1 },
        },
      ],
    },
    stdout: [
      /^DATABASE .* none +- +- +on +- +d$/m,
      /^HTTP .* 9 bytes left +3 +- +- +- +d$/m,
      /^TLS .* 5\/s, 2 calls left +- +- +- +pino db +d$/m,
    ],
  },
  {
    what: 'a health that only says how it is',
    args: ['health'],
    answer: { status: 'degraded', otelrdcp_emit: { to: 'elsewhere', reason: 'newer' } },
    stdout: [/^degraded\ndebug lines to elsewhere \(newer\)\n$/],
  },
  {
    what: 'a check of health with a state of its own',
    args: ['health'],
    answer: {
      status: 'healthy',
      checks: [
        { name: 'disk', status: 'unknown', duration: '1 ms' },
        { name: 'store', status: 'warn', duration: '2 ms', otelrdcp_reason: 'slow' },
      ],
    },
    stdout: [/^CHECK +STATUS +TOOK +REASON$/m, /^disk +unknown +1 ms +-$/m, /^store +warn +2 ms +slow$/m],
  },
  {
    what: 'a metric in a unit that is not known here',
    args: ['metrics'],
    answer: { metrics: { heat: { value: 1.25, unit: 'kelvin', timestamp: NOW } }, categories: {} },
    stdout: [/^heat +1\.3 kelvin\n$/m],
  },
  {
    what: 'processes of which no applied revision is known',
    args: ['fleet'],
    answer: {
      revision: 4,
      instances: [true, false].map((pending, index) => ({ ...MEMBER, id: `p${index}`, pid: index + 1, pending })),
    },
    stdout: [/^h:1 +s +- +- +\? +0\.0 s ago$/m, /^h:2 +s +- +- +- +0\.0 s ago$/m, /applied by 1 of 2 processes/],
  },
  {
    what: 'a process that is not heard of as silent, which counts',
    args: ['fleet'],
    answer: {
      revision: 4,
      instances: [
        { ...MEMBER, id: 'p0', pid: 1, applied: 4, pending: false },
        { ...MEMBER, id: 'p1', pid: 2, applied: 4, pending: false },
      ],
      lost: [{ ...MEMBER, id: 'p2', pid: 3, applied: 3, pending: true }],
    },
    stdout: [/^h:3 +s +- +3 +silent +0\.0 s ago$/m, /applied by 2 of 3 processes/],
  },
  {
    what: 'the categories of a process that not all have, and of a fleet of one no count',
    args: ['fleet', '-o', 'wide'],
    answer: {
      revision: 4,
      instances: [{ ...MEMBER, id: 'p', pid: 1, applied: 4, pending: false, categories: ['A', 'B'] }],
    },
    stdout: [/^PROCESS +ID .*LAST SEEN +NOT ALL HAVE$/m, /0\.0 s ago +A, B$/m, /^revision 4$/m],
  },
  {
    what: 'how many processes have a category that not all have',
    args: ['list'],
    answer: {
      categories: [
        { ...DATABASE, name: 'A', description: '', metrics: SILENT, otelrdcp_instances: { having: 1, of: 3 } },
      ],
      otelrdcp_instances: { of: 3, counted: 2, silent: 1 },
    },
    stdout: [/^CATEGORY.* PROCESSES /m, /^A +on .* 1 of 3$/m],
    stderr: [/^CALLS of 2 of 3 processes, 1 not heard of: see 'rdcp fleet'$/m],
  },
  {
    what: 'a change in a process without a shared store, which reached that process alone',
    args: ['enable', 'A', '--permanent'],
    answer: { status: 'success', message: '', changes: [change('A')], otelrdcp_shared: false },
    stdout: [/^in this process alone: other processes of the service, if there are any, do not share its store$/m],
  },
  {
    what: 'a change in a fleet of one without a count',
    args: ['enable', 'A', '--permanent'],
    answer: {
      status: 'success',
      message: '',
      changes: [change('A')],
      otelrdcp_fleet: { instances: 1, applied: 1, pending: [] },
    },
    stdout: [/^A on without an end\n$/],
  },
  {
    what: 'that the instrumentation is disabled',
    args: ['status'],
    answer: { enabled: false, categories: { SQL: false }, performance: { totalCalls: 1, callsPerSecond: 0 } },
    stdout: [/^SQL +off$/m],
    stderr: [/^rdcp: the instrumentation is disabled in this service$/m],
  },
  {
    what: 'when many changes end, and which processes have not applied them',
    args: ['enable', 'A', 'B', 'C', 'D', 'E', 'F', '-o', 'wide'],
    answer: {
      status: 'success',
      message: '',
      changes: [...'ABCDEF'].map((name) => change(name, later)).concat(change('G')),
      otelrdcp_fleet: { instances: 3, applied: 1, pending: ['p1', 'p2'] },
    },
    stdout: [
      /^G on without an end$/m,
      /^A, B, C, D, E, F on for 5m, until /m,
      /^applied by 1 of 3 processes; still pending: p1, p2$/m,
    ],
  },
  {
    what: 'a change that failed, as a refusal',
    args: ['disable', 'A'],
    answer: { status: 'failed', message: 'no', changes: [change('A', { newState: false, ...later })] },
    code: 1,
    stdout: [/^A off for 5m, until /m],
  },
  {
    what: 'that a service has no dry run, before anything is sent',
    args: ['enable', 'A', '--dry-run'],
    answer: { endpoints: {} },
    code: 1,
    stderr: [/^rdcp: this service has no dry run, so nothing was sent\n$/],
  },
  {
    what: 'that no category of this name is known, in a service that does not say which',
    args: ['enable', 'A'],
    answer: { error: { code: 'RDCP_CATEGORY_NOT_FOUND', message: 'Unknown category' } },
    status: 404,
    code: 1,
    stderr: [/^rdcp: RDCP_CATEGORY_NOT_FOUND: Unknown category; see 'rdcp list'/],
  },
  {
    what: 'the details of a refusal that are no text',
    args: ['list'],
    answer: {
      error: { code: 'RDCP_FORBIDDEN', message: 'No', details: { limit: 5, of: { a: 1 }, names: ['x', 'y'] } },
    },
    status: 403,
    code: 1,
    stderr: [/limit: 5; of: \{"a":1\}; names: x, y/],
  },
  {
    what: 'what a credential may do, in words, where a change goes beyond it',
    args: ['enable', 'HTTP'],
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
    stderr: [/; HTTP does not \(it may do DB_\*: for at most 5m\)\n$/],
  },
  {
    what: 'a header that is pasted as one word, whatever the ticket holds',
    args: ['request', 'DATABASE'],
    answer: { otelrdcp_request: { baggage: `rdcp.debug=${HOSTILE}`, expiresAt: later.expiresAt } },
    stdout: [/^curl -H 'baggage: rdcp\.debug='\\''; id #' URL\n$/],
  },
  {
    what: 'how to end an activation, whatever its id is',
    args: ['enable', 'DATABASE', '-m', 'user.id=42'],
    answer: { action: 'enable', categories: [], changes: [], otelrdcp_activation: { ...RECORDING, id: HOSTILE } },
    stdout: [/ \(rdcp end --id ''\\''; id #'\)\n$/],
  },
  {
    what: 'how to undo what is named as the service likes',
    args: ['disable', 'DATABASE'],
    answer: {
      action: 'disable',
      changes: [change(HOSTILE, { newState: false })],
      tenant: { ...tenant, id: HOSTILE },
    },
    stdout: [/: rdcp reset ''\\''; id #' --tenant ''\\''; id #'$/m],
  },
  {
    what: 'where a trail goes on, whatever the cursor is',
    args: ['audit', '--limit', '1'],
    answer: { entries: [{ ...entry, categories: [], identity: {} }], otelrdcp_next: HOSTILE },
    stderr: [/^More entries: --cursor ''\\''; id #'$/m],
  },
  {
    what: 'that a trail of one tenant is not the whole trail',
    args: ['audit', 'verify'],
    answer: { entries: [], tenant: { id: 'acme', scope: 'tenant-isolated', isolationLevel: 'organization' } },
    code: 2,
    stderr: [/^rdcp: this credential shows the trail of some tenants only: use a credential without a tenant\n$/],
  },
];

describe('what a service may leave out or add', () => {
  for (const { what, args, answer, status = 200, code = 0, stdout = [], stderr = [] } of TABLE) {
    it(`rdcp ${args[0]} shows ${what}`, async (t) => {
      const { url } = await service(t, answer, status);
      const shown = await rdcp([...args, '--url', url], { env });
      assert.equal(shown.code, code, shown.stderr);
      for (const pattern of stdout) assert.match(shown.stdout, pattern);
      for (const pattern of stderr) assert.match(shown.stderr, pattern);
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

describe('rdcp login', () => {
  const session = { authenticated: true, method: 'api-key', userId: 'alice', scopes: ['admin', 'status'] };
  const login = (t: TestContext, url: string, credential: string, ...args: string[]) => {
    const config = newFolder(t);
    const env = { XDG_CONFIG_HOME: config, RDCP_URL: url };
    return {
      run: () => rdcp(['login', ...args], { env, piped: `${credential}\n` }),
      profiles: async () => JSON.parse((await rdcp(['profiles', '-o', 'json'], { env })).stdout).profiles,
      table: async () => (await rdcp(['profiles'], { env })).stdout,
    };
  };

  it('takes the address from RDCP_URL, knows a token, and keeps the tenant', async (t) => {
    const { url, seen } = await service(t, session);
    const { run, profiles, table } = login(t, url, 'a.b.c', '--tenant', 'acme');
    const { code, stderr } = await run();
    assert.deepEqual([code, stderr], [0, `Logged in to ${url} as alice (admin, status); profile default.\n`]);
    assert.equal(seen[0]?.headers.authorization, 'Bearer a.b.c');
    assert.deepEqual(await profiles(), [{ name: 'default', url, tenant: 'acme', credential: ['token'] }]);
    assert.match(await table(), /^default +http:\S+ +acme +token$/m);
  });

  it('--token says that a word of no known form is a token', async (t) => {
    const { url, seen } = await service(t, session);
    assert.equal((await login(t, url, 'opaque', '--token').run()).code, 0);
    assert.equal(seen[0]?.headers.authorization, 'Bearer opaque');
  });

  it('works with a service without a session endpoint', async (t) => {
    const { url } = await service(t, { error: { code: 'RDCP_NOT_FOUND', message: 'no' } }, 404);
    const { code, stderr } = await login(t, url, 'x'.repeat(40)).run();
    assert.deepEqual([code, stderr], [0, `Logged in to ${url}; profile default.\n`]);
  });

  it('refuses a tenant that is no identifier, a key that is mistyped and a profile without a name', async (t) => {
    const wrong = async (credential: string, ...args: string[]) => {
      const { code, stderr } = await login(t, 'http://127.0.0.1:1', credential, ...args).run();
      assert.equal(code, 2, stderr);
      return stderr;
    };
    assert.match(await wrong(key, '--tenant', 'a b'), /^rdcp: --tenant must be 1 to 255 characters/);
    const last = key.endsWith('A') ? 'B' : 'A';
    assert.equal(await wrong(`${key.slice(0, -1)}${last}`), 'rdcp: the key is mistyped\n');
    assert.match(await wrong(key, '--profile', 'a b'), /^rdcp: a profile must be named by 1 to 255 characters/);
  });
});

describe('completion', () => {
  it('offers profiles, files and what follows an option that is given', async (t) => {
    const { url } = await service(t, { userId: 'alice', scopes: [], categories: [DATABASE] });
    const config = newFolder(t);
    const env = { XDG_CONFIG_HOME: config };
    const texts = async (...words: string[]) =>
      (await rdcp(['__complete', ...words], { env })).stdout.split('\n').map((line) => line.split('\t')[0]);
    const { code } = await rdcp(['login', '--url', url, '--profile', 'staging'], { env, piped: `${key}\n` });
    assert.equal(code, 0);
    assert.deepEqual(await texts('list', '--profile', 's'), ['staging', '']);
    assert.deepEqual(await texts('list', '--profile=st'), ['--profile=staging', '']);
    assert.deepEqual(await texts('enable', '--permanent', '--profile=staging', '-y', 'DA'), ['DATABASE', '']);
    assert.ok((await texts()).includes('enable'));
  });
});

describe('rdcp watch', () => {
  it('names who switched a category by the changes that were made', async (t) => {
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

  it('follows the stream of state, also for a category that is new in it', async (t) => {
    const url = await streaming(t, [
      ['snapshot', { categories: [DATABASE] }],
      ['category', { ...DATABASE, name: 'NEW' }],
      ['rates', { categories: { NEW: 2 } }],
      ['revision', {}],
      ['category', { ...DATABASE, enabled: false }],
    ]);
    const { code, stdout } = await rdcp(['watch', '--url', url, '-o', 'json'], { env, ...ending(/"enabled":false/) });
    assert.equal(code, 0);
    assert.deepEqual(
      jsonLines(stdout).map(({ name, enabled, metrics }) => [name, enabled, metrics.callsTotal]),
      [
        ['DATABASE', true, 7],
        ['NEW', true, 0],
        ['DATABASE', false, 7],
      ],
    );
  });
});

describe('rdcp token with a service that keeps no sessions', () => {
  const issued = { access_token: 'a.b.c', token_type: 'Bearer', expires_in: 300, scope: 'status' };

  it('create prints the token and says that no refresh token came; refresh keeps the one it has', async (t) => {
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
});

it('help in front of a command is --help behind it', async () => {
  const [before, behind] = await Promise.all([rdcp(['help', 'tail']), rdcp(['tail', '--help'])]);
  assert.equal(before.code, 0);
  assert.match(before.stdout, /^Usage: rdcp tail /);
  assert.equal(before.stdout, behind.stdout);
});
