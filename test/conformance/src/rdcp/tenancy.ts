import { describe, expectAt, expectOk, expectRefusal, valueAt } from '../body.ts';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { type Answer, exchange } from '../http.ts';
import { type Credential, credentialHeaders, evidence, PATHS, type Session } from '../session.ts';
import { need, needCapability, opposite, readCategory, rememberFor, subject } from '../subject.ts';
import { IDENTIFIER, oneOf } from '../value-types.ts';

const FORBIDDEN_CODES = ['RDCP_FORBIDDEN', 'RDCP_AUTH_FAILED'];
const ISOLATION = oneOf('global', 'process', 'namespace', 'organization');
const SCOPE = oneOf('global', 'tenant-isolated');

async function firstTenant(session: Session): Promise<Credential> {
  await needCapability(session, 'multiTenancy');
  return need(session.credentials.tenants[0], '--tenant-key or --tenant-token');
}

async function bothTenants(session: Session): Promise<readonly [Credential, Credential]> {
  const first = await firstTenant(session);
  return [first, need(session.credentials.tenants[1], 'a second --tenant-key or --tenant-token')];
}

/** Answers of each GET endpoint to a tenant. */
const answers = evidence(async (session): Promise<readonly Answer[]> => {
  const as = await firstTenant(session);
  return [
    await session.get(PATHS.discovery, { as }),
    await session.get(PATHS.status, { as }),
    await session.get(PATHS.health, { as }),
  ];
});

function tenantOf(answer: Answer | undefined, field: string): unknown {
  return valueAt(answer?.body, `tenant.${field}`);
}

/** The id and isolation level that the server shows a credential. */
async function identityOf(session: Session, as: Credential): Promise<{ id: string; isolation: string }> {
  const answer = await session.get(PATHS.status, { as });
  const id = tenantOf(answer, 'id');
  expect(typeof id === 'string', 'tenant.id in the answer', show(answer.body));
  return { id, isolation: String(tenantOf(answer, 'isolationLevel')) };
}

/** One tenant switches a category; what another one sees before and after. */
const separation = evidence(async (session) => {
  const [first, second] = await bothTenants(session);
  const { name } = await subject(session);
  const { isolation } = await identityOf(session, first);
  const own = await rememberFor(session, first, name);
  const before = await rememberFor(session, second, name);
  const answer = await session.control({ action: opposite(own), categories: [name] }, { as: first });
  return {
    isolation,
    own,
    answer,
    ownAfter: await readCategory(session, name, first),
    before,
    after: await readCategory(session, name, second),
  };
});

/** A control request and a read by one tenant under another tenant's name, and under one that does not exist. */
const crossing = evidence(async (session) => {
  const [first, second] = await bothTenants(session);
  const { id } = await identityOf(session, second);
  const { name } = await subject(session);
  const before = await readCategory(session, name, second);
  const naming = (tenant: string) => ({ as: first, headers: { 'X-RDCP-Tenant-ID': tenant } });
  const request = { action: opposite(before), categories: [name] };
  const answers = {
    control: await session.control(request, naming(id)),
    read: await session.get(PATHS.discovery, naming(id)),
    unknown: await session.get(PATHS.discovery, naming('no-such-tenant-here')),
  };
  return { before, after: await readCategory(session, name, second), answers };
});

export const tenancyChecks = [
  ...section(2, 'Tenant context', [
    [
      'L2-TCTX-01',
      'MUST',
      'Every answer in multi-tenant mode has tenant.id, an Identifier',
      async (s) => {
        for (const { body } of await answers(s)) expectAt(body, 'tenant.id', IDENTIFIER);
      },
    ],
    [
      'L2-TCTX-02',
      'MUST',
      'Every answer in multi-tenant mode has tenant.isolationLevel, one of the four',
      async (s) => {
        for (const { body } of await answers(s)) expectAt(body, 'tenant.isolationLevel', ISOLATION);
      },
    ],
    [
      'L2-TCTX-03',
      'MUST',
      'Every answer in multi-tenant mode has tenant.scope, global or tenant-isolated',
      async (s) => {
        for (const { body } of await answers(s)) expectAt(body, 'tenant.scope', SCOPE);
      },
    ],
    [
      'L2-TCTX-04',
      'MUST',
      'The control answer has the tenant context too',
      async (s) => {
        const { body } = (await separation(s)).answer;
        expectAt(body, 'tenant.id', IDENTIFIER);
        expectAt(body, 'tenant.scope', SCOPE);
      },
    ],
    [
      'L2-TCTX-05',
      'MUST',
      'Without isolation the scope is global',
      async (s) => {
        const [answer] = await answers(s);
        if (tenantOf(answer, 'isolationLevel') !== 'global') skip('the server isolates tenants');
        expect(tenantOf(answer, 'scope') === 'global', 'scope global', show(tenantOf(answer, 'scope')));
      },
    ],
  ]),
  ...section(2, 'Authentication: tenants', [
    [
      'L2-TENA-01',
      'MUST',
      'X-RDCP-Tenant-ID with the own tenant is accepted',
      async (s) => {
        const as = await firstTenant(s);
        const { id } = await identityOf(s, as);
        expectOk(await s.get(PATHS.status, { as, headers: { 'X-RDCP-Tenant-ID': id } }));
      },
    ],
    [
      'L2-TENA-02',
      'MUST',
      'X-RDCP-Isolation-Level with the level in force is accepted',
      async (s) => {
        const as = await firstTenant(s);
        const { isolation } = await identityOf(s, as);
        expectOk(await s.get(PATHS.status, { as, headers: { 'X-RDCP-Isolation-Level': isolation } }));
      },
    ],
    [
      'L2-TENA-03',
      'MUST',
      'X-RDCP-Tenant-Name is accepted',
      async (s) =>
        void expectOk(
          await s.get(PATHS.status, { as: await firstTenant(s), headers: { 'X-RDCP-Tenant-Name': 'A tenant' } }),
        ),
    ],
    [
      'L2-TENA-04',
      'MUST',
      "Control under another tenant's id is refused with 403",
      async (s) => void expectRefusal((await crossing(s)).answers.control, [403], FORBIDDEN_CODES),
    ],
    [
      'L2-TENA-05',
      'MUST',
      "Reading under another tenant's id is refused with 403",
      async (s) => void expectRefusal((await crossing(s)).answers.read, [403], FORBIDDEN_CODES),
    ],
    [
      'L2-TENA-06',
      'MUST',
      "A refused control under another tenant's id changes nothing there",
      async (s) => {
        const { before, after } = await crossing(s);
        expect(before.enabled === after.enabled, show(before), after);
      },
    ],
    [
      'L2-TENA-07',
      'SHOULD',
      'The refusal does not tell whether the other tenant exists',
      async (s) => {
        const { read, unknown } = (await crossing(s)).answers;
        const same = read.status === unknown.status && describe(read).slice(0, 30) === describe(unknown).slice(0, 30);
        expect(same, 'the same answer for both', `${describe(read)} and ${describe(unknown)}`);
      },
    ],
    [
      'L2-TENA-08',
      'MUST',
      'Two tenant ids in one request do not let the second one through',
      async (s) => {
        const [first, second] = await bothTenants(s);
        const [own, other] = [await identityOf(s, first), await identityOf(s, second)];
        const answer = await exchange(s.target, {
          method: 'GET',
          path: PATHS.status,
          headers: [...credentialHeaders(first), ['X-RDCP-Tenant-ID', own.id], ['X-RDCP-Tenant-ID', other.id]],
        });
        const refused = answer.status >= 400 && answer.status < 500;
        expect(refused || tenantOf(answer, 'id') === own.id, 'a refusal, or the own tenant', describe(answer));
      },
    ],
    [
      'L2-TENA-09',
      'MUST',
      'An isolation level that is not in force is not granted',
      async (s) => {
        const as = await firstTenant(s);
        const { isolation } = await identityOf(s, as);
        if (isolation === 'global') skip('the server does not isolate tenants');
        const answer = await s.get(PATHS.status, { as, headers: { 'X-RDCP-Isolation-Level': 'global' } });
        const kept = answer.status >= 400 ? answer.status < 500 : tenantOf(answer, 'isolationLevel') === isolation;
        expect(kept, `a refusal, or isolationLevel ${isolation}`, describe(answer));
      },
    ],
  ]),
  ...section(2, 'Tenant isolation', [
    [
      'L2-ISOL-01',
      'MUST',
      'A tenant switches a category for itself',
      async (s) => {
        const { own, ownAfter, answer } = await separation(s);
        expectOk(answer);
        expect(own.enabled !== ownAfter.enabled, `enabled ${!own.enabled}`, ownAfter);
      },
    ],
    [
      'L2-ISOL-02',
      'MUST',
      "One tenant's change does not show to another, unless the isolation level is global",
      async (s) => {
        const { isolation, before, after } = await separation(s);
        if (isolation === 'global') skip('all tenants share the configuration');
        expect(before.enabled === after.enabled, show(before), after);
      },
    ],
    [
      'L2-ISOL-03',
      'MUST',
      'With isolation level global one change shows to all tenants',
      async (s) => {
        const { isolation, ownAfter, after } = await separation(s);
        if (isolation !== 'global') skip('the server isolates tenants');
        expect(ownAfter.enabled === after.enabled, show(ownAfter), after);
      },
    ],
    [
      'L2-ISOL-04',
      'MUST',
      "Nothing that a tenant reads holds another tenant's id",
      async (s) => {
        const [first, second] = await bothTenants(s);
        const { id } = await identityOf(s, second);
        for (const path of [PATHS.discovery, PATHS.status, PATHS.health, PATHS.metrics, PATHS.tenants, PATHS.audit]) {
          const { text } = await s.get(path, { as: first });
          expect(!text.includes(JSON.stringify(id)), `${path} without ${id}`, 'it is there');
        }
      },
    ],
  ]),
];
