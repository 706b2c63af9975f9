import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import {
  CONSOLE_PATHS,
  type IsolationLevel,
  PATHS as OF_PROTOCOL,
  SCOPES,
  type Scope,
} from '../../src/wire/constants.ts';
import type { ErrorResponse, TenantContext } from '../../src/wire/messages.ts';
import type { Delay } from '../../src/wire/time/clock.ts';
import { KeptConnection } from '../support/kept-connection.ts';
import { startServer } from '../support/server.ts';
import { credentialsOf, LEVELS, type Person } from '../support/tenants.ts';

// The whole matrix method x path x credential x scope x tenant x isolation, and what each cell is to be answered, written
// down a second time and in other words than the server's.

const PATHS = { ...OF_PROTOCOL, consoleCode: CONSOLE_PATHS.code } as const;

type Path = keyof typeof PATHS;

/** Paths that show or change what is of one tenant alone, where one is named. */
const TENANT_BOUND: readonly Path[] = ['control', 'approve', 'forecast', 'tail', 'failures'];
/** Paths whose request in this test is let through, and then found malformed: an answer would take its time. */
const MALFORMED: readonly Path[] = ['approve', 'forecast', 'tail', 'failures', 'alerts'];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

/** One of these scopes is needed; `open` is for everybody, `any` for every credential. */
const NEEDED: Readonly<Record<Path, { readonly method: 'GET' | 'POST'; readonly needs: readonly Scope[] | string }>> = {
  wellKnown: { method: 'GET', needs: 'open' },
  health: { method: 'GET', needs: ['status', 'discovery'] },
  discovery: { method: 'GET', needs: ['discovery'] },
  status: { method: 'GET', needs: ['status', 'discovery'] },
  metrics: { method: 'GET', needs: ['discovery'] },
  tenants: { method: 'GET', needs: ['admin'] },
  audit: { method: 'GET', needs: ['admin'] },
  session: { method: 'GET', needs: 'any' },
  fleet: { method: 'GET', needs: ['status', 'discovery'] },
  notifications: { method: 'GET', needs: ['admin'] },
  approvals: { method: 'GET', needs: ['admin'] },
  approve: { method: 'POST', needs: ['admin'] },
  alerts: { method: 'POST', needs: ['alerts'] },
  control: { method: 'POST', needs: ['control'] },
  forecast: { method: 'POST', needs: ['control', 'tail'] },
  tail: { method: 'GET', needs: ['admin', 'tail'] },
  failures: { method: 'POST', needs: ['admin', 'tail'] },
  events: { method: 'GET', needs: ['discovery'] },
  openapi: { method: 'GET', needs: ['discovery'] },
  consoleCode: { method: 'POST', needs: 'any' },
};

const SCOPE_SETS: readonly (readonly Scope[])[] = [
  ...SCOPES.map((scope) => [scope]),
  ['discovery', 'status', 'control'],
];

/** The tenants of a credential that has a list: `own` is one of them, and no other that a request names. */
const LIST = ['acme', 'c*'];

/** Every kind of credential with every set of scopes, of no tenant, of one, and of a list. */
const PEOPLE: Readonly<Record<string, Person>> = Object.fromEntries(
  (['api-key', 'bearer'] as const).flatMap((method) =>
    [{}, { tenantId: 'acme' }, { tenants: LIST }].flatMap((whose: Pick<Person, 'tenantId' | 'tenants'>) =>
      SCOPE_SETS.map((scopes) => [
        `${method} ${scopes.join('+')} of ${whose.tenants ?? whose.tenantId ?? 'nobody'}`,
        { method, scopes, ...whose },
      ]),
    ),
  ),
);

const NOBODY = 'no credential';
const STRANGER = 'a wrong credential';

/** What a request says of tenants. `beta` exists, `ghost` does not. */
interface Claim {
  readonly tenantIds?: readonly string[];
  readonly level?: 'right' | 'wrong';
}
const CLAIMS: Readonly<Record<string, Claim>> = {
  nothing: {},
  own: { tenantIds: ['acme'] },
  'another tenant': { tenantIds: ['beta'] },
  'no tenant of ours': { tenantIds: ['ghost'] },
  'another spelling': { tenantIds: ['ACME'] },
  everybody: { tenantIds: ['global'] },
  malformed: { tenantIds: ['*'] },
  'the own one twice': { tenantIds: ['acme', 'acme'] },
  'the right level': { level: 'right' },
  'the wrong level': { level: 'wrong' },
};

interface Cell {
  readonly level: IsolationLevel | 'none';
  readonly path: Path;
  readonly method: string;
  readonly person: string;
  readonly claim: string;
}

interface Expected {
  readonly status: number;
  /** `details.reason` of the refusal. */
  readonly reason?: string;
  /** `details.requiredScopes` of the refusal, where it is not what the path needs. */
  readonly requires?: readonly Scope[];
  /** `tenant.id` of the answer; undefined for none. */
  readonly tenant?: string | undefined;
}

/** The methods of a path. */
function allowedAt(path: Path): readonly string[] {
  if (path === 'tail') return ['GET', 'HEAD', 'POST'];
  return NEEDED[path].method === 'POST' ? ['POST'] : ['GET', 'HEAD'];
}

function expected({ level, path, method, person, claim }: Cell): Expected {
  const { tenantIds, level: stated } = CLAIMS[claim] ?? {};
  const multiTenant = level !== 'none';
  if (claim === 'malformed' || (!multiTenant && tenantIds?.length === 2)) return { status: 400 };
  const who = PEOPLE[person];
  const needs = neededBy(who, path);
  if (!allowedAt(path).includes(method)) return { status: 405 };

  const home = multiTenant && who !== undefined ? (who.tenantId ?? 'global') : undefined;
  if (needs === 'open') return { status: 200, tenant: home };
  if (who === undefined) return { status: person === NOBODY && path === 'health' ? 200 : 401 };
  const holds = typeof needs === 'string' || who.scopes.some((scope) => scope === 'admin' || needs.includes(scope));
  if (!holds) return { status: 403, reason: 'insufficient_scopes', tenant: home };

  if (!multiTenant) {
    if ((who.tenantId ?? who.tenants) !== undefined) return { status: 403, reason: 'tenant_mismatch' };
    const refused = TENANT_BOUND.includes(path) && (tenantIds !== undefined || stated !== undefined);
    if (refused) return { status: 400 };
    return { status: letThrough(path) };
  }
  const mismatch = { status: 403, reason: 'tenant_mismatch', tenant: home };
  let addressed = home;
  if (who.tenants !== undefined && [undefined, 'global'].includes(tenantIds?.[0])) {
    // A change, and a forecast, is for one tenant; what is read without one is of the list.
    if (['control', 'approve', 'forecast'].includes(path) || stated === 'wrong') return { status: 400, tenant: home };
    if (path === 'notifications') return mismatch;
    return { status: letThrough(path), tenant: home };
  }
  if (tenantIds !== undefined) {
    const isListed = who.tenants !== undefined && tenantIds[0] === 'acme';
    const mayName = who.tenants === undefined ? who.tenantId === undefined && who.scopes.includes('admin') : isListed;
    const itself = tenantIds.length === 1 && tenantIds[0] === home;
    if (!itself && !mayName) return mismatch;
    if (!itself && tenantIds.length === 2) return { status: 400, tenant: home };
    addressed = tenantIds[0];
  }
  if (stated === 'wrong') return { status: 400, tenant: home };
  if (TENANT_BOUND.includes(path) && level !== 'global' && addressed === 'global' && !who.scopes.includes('admin')) {
    return { status: 403, reason: 'insufficient_scopes', requires: ['admin'], tenant: home };
  }
  if ((path === 'fleet' || path === 'notifications') && who.tenantId !== undefined) return mismatch;
  if (path === 'notifications' && who.tenants !== undefined) return { ...mismatch, tenant: addressed };
  return { status: letThrough(path), tenant: addressed };
}

/** A credential with a list reads what is of its tenants without being `admin`. */
function neededBy(who: Person | undefined, path: Path): readonly Scope[] | string {
  const isOfTenants = path === 'tenants' || path === 'audit';
  return isOfTenants && who?.tenants !== undefined ? ['admin', 'control'] : NEEDED[path].needs;
}

function letThrough(path: Path): number {
  if (MALFORMED.includes(path)) return 400;
  return path === 'fleet' ? 404 : 200;
}

const BODY = JSON.stringify({ action: 'status' });
const AT_ONCE = 16;

/** Those who stand for everybody where a method is not served. */
const ANYBODY = [NOBODY, STRANGER, 'api-key admin of nobody', 'bearer status of acme'];

const PEOPLE_THERE = [...Object.keys(PEOPLE), NOBODY, STRANGER];

/**
 * Of each path, with its method, every person, with two of the claims in turn. Methods that are not served, whoever asks, and
 * HEAD, only with the people and the claims that tell most.
 */
function isInBrief({ path, method, person, claim }: Cell): boolean {
  if (method === NEEDED[path].method) {
    const pair = Math.floor(Object.keys(CLAIMS).indexOf(claim) / 2);
    return (Object.keys(NEEDED).indexOf(path) + PEOPLE_THERE.indexOf(person) + pair) % 5 === 0;
  }
  return ANYBODY.includes(person) && ['nothing', 'malformed'].includes(claim);
}

/** @param options `extent`: `brief`: see {@link isInBrief}; `declare`: the tiers of the test */
export function checkMatrix(
  level: 'none' | IsolationLevel,
  { extent, declare = test }: { readonly extent: 'whole' | 'brief'; readonly declare?: typeof test.only },
): void {
  const first = extent === 'whole' ? 'every method, path, credential, scope and tenant' : 'every path and credential';
  declare(`${first} is answered as written down, isolation ${level}`, async (t) => {
    const { authenticator, headers: credentials } = await credentialsOf(PEOPLE);
    const server = await startServer(t, {
      config: {
        alerts: [{ name: 'errors', match: { alertname: 'HighErrorRate' }, enable: ['HTTP'], for: '15m' }],
        tenancy: level === 'none' ? false : { ...LEVELS[level], tenants: { beta: { name: 'Beta' } } },
      },
      // One-time codes are forgotten at once, so that their number limits nothing.
      wrap: () => ({ authenticator, delay: soon }),
    });
    const before = JSON.stringify(server.plane.view({ key: '*' }));
    const wrongLevel = level === 'global' ? 'organization' : 'global';

    const all = (Object.keys(NEEDED) as Path[]).flatMap((path) =>
      METHODS.flatMap((method) =>
        PEOPLE_THERE.flatMap((person) =>
          Object.keys(CLAIMS).map((claim): Cell => ({ level, path, method, person, claim })),
        ),
      ),
    );

    const cells = extent === 'whole' ? all : all.filter(isInBrief);

    const refusals = new Map<string, string>();
    async function check(cell: Cell, connection: KeptConnection): Promise<void> {
      const { path, method, person, claim } = cell;
      const { tenantIds = [], level: stated } = CLAIMS[claim] ?? {};
      const credential = person === STRANGER ? { 'X-RDCP-API-Key': 'x'.repeat(40) } : (credentials[person] ?? {});
      const withBody = !['GET', 'HEAD'].includes(method);
      const headers = [
        ['Host', new URL(server.url).host],
        ...Object.entries(credential),
        ...tenantIds.map((id) => ['X-RDCP-Tenant-ID', id]),
        ...(stated === undefined ? [] : [['X-RDCP-Isolation-Level', stated === 'right' ? level : wrongLevel]]),
        ...(withBody
          ? [
              ['Content-Type', 'application/json'],
              ['Content-Length', String(BODY.length)],
            ]
          : []),
      ];
      const lines = headers.map(([header, value]) => `${header}: ${value}\r\n`).join('');
      const { status, reason, requires, tenant } = expected(cell);
      const request = `${method} ${PATHS[path]} HTTP/1.1\r\n${lines}\r\n${withBody ? BODY : ''}`;
      if (path === 'events' && method === 'GET' && status === 200) {
        assert.match(await beginning(server.url, request), /^HTTP\/1\.1 200 /, `${person}, naming ${claim}`);
        return;
      }
      const answer = await connection.exchange(request);
      const name = `${method} ${path}, ${person}, naming ${claim}: ${answer.body.slice(0, 200)}`;
      assert.equal(answer.status, status, name);
      assert.equal(answer.headers.get('x-rdcp-protocol'), 'rdcp/1.0', name);
      assert.equal(answer.headers.has('www-authenticate'), status === 401 || isBearerRefusal(cell, reason), name);
      if (status === 405) assert.equal(answer.headers.get('allow'), allowedAt(path).join(', '), name);
      if (method === 'HEAD') return;
      // The document is OpenAPI's, and of no tenant.
      if (path === 'openapi' && status === 200) return;
      const body: Partial<ErrorResponse> & { readonly tenant?: TenantContext } = JSON.parse(answer.body);
      assert.deepEqual(body.tenant, tenant === undefined ? undefined : contextOf(cell, tenant), name);
      if (status === 200) assert.equal(body.error, undefined, name);
      if (status !== 403) return;
      assert.equal(body.error?.code, 'RDCP_FORBIDDEN', name);
      assert.equal(body.error?.method, PEOPLE[person]?.method, name);
      assert.equal(body.error?.details?.reason, reason, name);
      const needs = reason === 'insufficient_scopes' ? (requires ?? neededBy(PEOPLE[person], path)) : undefined;
      if (needs !== undefined) assert.deepEqual(body.error?.details?.requiredScopes, needs, name);
      // The other two are refused to every tenant, whatever its scopes.
      if (path !== 'fleet' && path !== 'notifications')
        assert.deepEqual(body.error?.details?.providedScopes, PEOPLE[person]?.scopes, name);
      refusals.set([path, method, person, claim].join(), answer.body);
    }

    const rest = cells.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const connection = new KeptConnection(server.url);
        t.after(() => connection.close());
        for (const cell of rest) await check(cell, connection);
      }),
    );

    const people = 2 * 3 * SCOPE_SETS.length + 2;
    const paths = Object.keys(PATHS).length;
    const whole = paths * METHODS.length * people * 10;
    const brief = paths * people * 2 + paths * (METHODS.length - 1) * ANYBODY.length * 2;
    assert.equal(cells.length, extent === 'whole' ? whole : brief);
    t.diagnostic(`${cells.length} cells`);
    let compared = 0;
    for (const [key, text] of refusals) {
      if (!key.endsWith(',another tenant')) continue;
      assert.equal(text, refusals.get(key.replace(/another tenant$/, 'no tenant of ours')), key);
      compared += 1;
    }
    assert.equal(compared > 0, true, 'a tenant that exists and one that does not were both refused');
    assert.equal(JSON.stringify(server.plane.view({ key: '*' })), before, 'nothing was switched');
    assert.deepEqual([...server.plane.scopes()], [], 'nothing was switched for a tenant');
    assert.deepEqual(server.reports, []);
  });
}

/** What a stream begins with. It is left at once. */
async function beginning(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  socket.write(request);
  const [text] = await once(socket, 'data');
  socket.destroy();
  return text;
}

const soon: Delay = (_milliseconds, task) => {
  let cancelled = false;
  queueMicrotask(() => {
    if (!cancelled) task();
  });
  return () => {
    cancelled = true;
  };
};

/** RFC 6750, section 3.1: a token that lacks a scope is told so in a challenge. */
function isBearerRefusal({ person }: Cell, reason: string | undefined): boolean {
  return PEOPLE[person]?.method === 'bearer' && reason === 'insufficient_scopes';
}

function contextOf({ level }: Cell, id: string): TenantContext {
  assert.notEqual(level, 'none');
  const isolated = level !== 'global' && id !== 'global';
  return { id, isolationLevel: level as IsolationLevel, scope: isolated ? 'tenant-isolated' : 'global' };
}
