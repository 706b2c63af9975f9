import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertMayRead, maySwitchOn, withDefaultsOf } from '../../src/control/allow.ts';
import type { CommandContext } from '../../src/control/types.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { Activation, ScopeState, Settings, StateStore } from '../../src/store/state-store.ts';
import { type Allow, allowSchema, commonLimits } from '../../src/wire/allow.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { matchesAny } from '../../src/wire/names.ts';
import fc from '../support/fast-check.ts';
import { breakableStore } from './breakable-store.ts';
import { ACME, code, GLOBAL, startPlane } from './running-plane.ts';

const DB: Allow = { categories: ['DB_*'] };
const NAMES = ['CACHE', 'DATABASE', 'DB_POOL', 'DB_QUERY', 'HTTP'] as const;

async function start(allow: Allow, store: StateStore = createMemoryStore()) {
  const running = await startPlane({ store });
  for (const name of NAMES) running.gate.category(name);
  const limited = (request: ControlRequest, context: Partial<CommandContext> = {}) =>
    running.control(request, { allow, ...context });
  const refusedField = async (request: ControlRequest, context: Partial<CommandContext> = {}) => {
    try {
      await limited(request, context);
      return 'none';
    } catch (error) {
      if (!isRdcpError(error)) throw error;
      assert.deepEqual([error.code, error.details?.reason], ['RDCP_FORBIDDEN', 'not_allowed'], error.message);
      assert.deepEqual(error.details?.allow, allow, 'the refusal says what is allowed');
      return error.details?.field;
    }
  };
  return { ...running, store, limited, refusedField };
}

const enable = (categories: string[], options?: ControlRequest['options']): ControlRequest => ({
  action: 'enable',
  categories,
  ...(options && { options }),
});

describe('a credential with allow', () => {
  it('switches the categories that it names, and no other', async () => {
    const { limited, refusedField } = await start(DB);
    assert.equal((await limited(enable(['DB_POOL', 'DB_QUERY']))).response.status, 'success');
    assert.equal(await refusedField(enable(['DB_POOL', 'HTTP'])), 'categories');
    await assert.rejects(limited(enable(['CACHE', 'HTTP'])), /; CACHE, HTTP do not$/);
    for (const action of ['disable', 'toggle', 'reset'] as const) {
      assert.equal(await refusedField({ action, categories: ['DATABASE'] }), 'categories', action);
    }
    assert.equal(await refusedField({ action: 'reset' }), 'categories', 'of every category');
    assert.equal(await refusedField(enable(['HTTP'], { otelrdcp_dryRun: true })), 'categories', 'not even as a try');
  });

  it('reads the state of all', async () => {
    const { limited } = await start({ ...DB, actions: ['enable'] });
    assert.equal((await limited({ action: 'status' })).response.changes.length, NAMES.length);
  });

  it('does with them what it names', async () => {
    const { limited, refusedField } = await start({ ...DB, actions: ['enable'] });
    await limited(enable(['DB_POOL']));
    for (const action of ['disable', 'toggle', 'reset'] as const) {
      assert.equal(await refusedField({ action, categories: ['DB_POOL'] }), 'action', action);
    }
  });

  it('quietens only where it may disable, because lines that would be written are not', async () => {
    const quiet = enable(['DB_POOL'], { otelrdcp_level: 'warn', duration: 60 });
    const { refusedField, limited } = await start({ ...DB, actions: ['enable'] });
    assert.equal(await refusedField(quiet), 'action');
    await limited(enable(['DB_POOL'], { otelrdcp_level: 'info' }));
    const other = await start({ ...DB, actions: ['disable'], maxDuration: '1m' });
    assert.equal((await other.limited(quiet)).response.changes[0]?.otelrdcp_level, 'warn');
    assert.equal(
      await other.refusedField(enable(['DB_POOL'], { otelrdcp_level: 'warn', duration: 61 })),
      'options.duration',
    );
    assert.equal(await other.refusedField(enable(['HTTP'], { otelrdcp_level: 'warn' })), 'categories');
  });

  it('records without a budget, since nothing is written, but no longer than it may', async () => {
    const record = (options: object) => enable(['DB_POOL'], { otelrdcp_record: true, ...options });
    const { limited, refusedField } = await start({ ...DB, maxBudget: { calls: 1 }, maxDuration: '1h' });
    const { otelrdcp_activation } = (await limited(record({ duration: 3600 }))).response;
    assert.deepEqual([otelrdcp_activation?.record, otelrdcp_activation?.budget], [true, undefined]);
    assert.equal(await refusedField(record({ duration: 3601 })), 'options.duration');
    assert.equal(await refusedField(record({ otelrdcp_permanent: true })), 'options.duration');
    const other = await start({ ...DB, actions: ['disable'] });
    assert.equal(await other.refusedField(record({})), 'action');
  });

  it('ends no activation of other categories by its id', async () => {
    const { control, limited, refusedField } = await start(DB);
    const part = { otelrdcp_filter: { sample: 0.5 } };
    const other = (await control(enable(['DB_POOL', 'HTTP'], part))).response.otelrdcp_activation?.id;
    const own = (await control(enable(['DB_POOL'], part))).response.otelrdcp_activation?.id;
    const end = (id: string | undefined): ControlRequest => ({ action: 'reset', options: { otelrdcp_id: id } });
    assert.equal(await refusedField(end(other)), 'categories');
    assert.equal((await limited(end(own))).response.status, 'success');
  });

  it('with a longest time changes no permanent setting, and is never shortened in silence', async () => {
    const { control, limited, refusedField, stateOf } = await start({ ...DB, maxDuration: '15m' });
    await limited(enable(['DB_POOL'], { duration: 900 }));
    assert.equal(await refusedField(enable(['DB_POOL'], { duration: 901 })), 'options.duration');
    assert.equal(await refusedField(enable(['DB_POOL'])), 'options.duration');
    assert.equal(await refusedField({ action: 'disable', categories: ['DB_POOL'] }), 'options.duration');
    assert.equal(
      await refusedField({ action: 'toggle', categories: ['DB_POOL'], options: { otelrdcp_budget: { calls: 1 } } }),
      'options.duration',
      'a toggle that switches off for good',
    );
    await limited({ action: 'reset', categories: ['DB_POOL'] });
    assert.equal(stateOf(GLOBAL, 'DB_POOL').enabled, false);
    await control({ action: 'enable', categories: ['DB_POOL'] });
    assert.equal(await refusedField({ action: 'reset', categories: ['DB_POOL'] }), 'options.otelrdcp_only');
    await limited({ action: 'reset', categories: ['DB_POOL'], options: { otelrdcp_only: 'temporary' } });
    assert.equal(stateOf(GLOBAL, 'DB_POOL').enabled, true);
  });

  it('with a largest budget switches on only within it', async () => {
    const { limited, refusedField } = await start({ ...DB, maxBudget: { callsPerSecond: 20, calls: 100 } });
    const within = { callsPerSecond: 20, calls: 100 };
    await limited(enable(['DB_POOL'], { otelrdcp_budget: within }));
    await limited(enable(['DB_POOL'], { otelrdcp_budget: { ...within, bytes: 1 }, otelrdcp_filter: { sample: 1 } }));
    for (const budget of [false, { callsPerSecond: 20 }, { callsPerSecond: 21, calls: 100 }, undefined] as const) {
      const options = { duration: 60, otelrdcp_budget: budget };
      assert.equal(await refusedField(enable(['DB_POOL'], options)), 'options.otelrdcp_budget');
    }
    assert.equal(await refusedField(enable(['DB_POOL'])), 'options.temporary');
    assert.equal(await refusedField({ action: 'toggle', categories: ['DB_QUERY'] }), 'options.temporary');
    await limited({ action: 'disable', categories: ['DB_POOL'] });
  });

  it('with tenants switches for them, and never for everybody', async () => {
    const { limited, refusedField } = await start({ ...DB, tenants: ['ac*'] });
    await limited(enable(['DB_POOL']), { scope: ACME });
    assert.equal(await refusedField(enable(['DB_POOL']), { scope: { key: 'beta', tenantId: 'beta' } }), 'tenant');
    assert.equal(await refusedField(enable(['DB_POOL'])), 'tenant');
  });

  it('that does not see values selects nothing by them', async () => {
    const { limited, refusedField } = await start({ ...DB, tail: 'redacted' });
    await limited(enable(['DB_POOL'], { otelrdcp_target: { match: { 'user.id': '42' } } }));
    await limited(enable(['DB_POOL'], { otelrdcp_filter: { text: 'slow*' } }));
    const byBeginning = { otelrdcp_target: { match: { 'user.id': '4*' } } };
    assert.equal(await refusedField(enable(['DB_POOL'], byBeginning)), 'target.match');
    assert.equal(await refusedField(enable(['DB_POOL'], { otelrdcp_filter: { where: 'rows > 1' } })), 'filter.where');
  });

  it('reads lines and measures within it', () => {
    const allow: Allow = { ...DB, actions: ['tail'], maxDuration: 60, tenants: ['acme'], maxBudget: { calls: 1 } };
    const reading = {
      action: 'tail' as const,
      categories: ['DB_POOL'],
      tenantId: 'acme',
      seconds: 60,
      match: undefined,
      filter: undefined,
    };
    assert.equal(assertMayRead({ allow }, reading), undefined);
    for (const [change, field] of [
      [{ action: 'forecast' as const }, 'action'],
      [{ categories: ['DB_POOL', 'HTTP'] }, 'categories'],
      [{ seconds: 61 }, 'duration'],
      [{ tenantId: undefined }, 'tenant'],
      [{ log: true }, 'log'],
    ] as const) {
      assert.throws(
        () => assertMayRead({ allow }, { ...reading, ...change }),
        (error) => isRdcpError(error) && error.details?.field === field,
        field,
      );
    }
  });

  it('triggers the rules of alerts that are within it', () => {
    const control = { categories: ['DB_POOL'], tenantId: undefined, seconds: 60 };
    assert.equal(maySwitchOn(DB, control), true);
    assert.equal(maySwitchOn(DB, { ...control, categories: ['HTTP'] }), false);
    assert.equal(maySwitchOn({ ...DB, maxDuration: '1m' }, control), true);
    assert.equal(maySwitchOn({ ...DB, maxDuration: '59s' }, control), false);
    assert.equal(maySwitchOn({ ...DB, actions: ['disable'] }, control), false);
    assert.equal(maySwitchOn({ ...DB, tenants: ['*'] }, control), false);
    assert.equal(maySwitchOn({ ...DB, maxBudget: { calls: 1 } }, control), false, 'alerts have no budget of their own');
  });
});

/** Each combination of one value of each member. */
function combinations<const T extends Readonly<Record<string, readonly unknown[]>>>(values: T) {
  return Object.entries(values).reduce<object[]>(
    (all, [name, each]) => all.flatMap((some) => each.map((value) => ({ ...some, [name]: value }))),
    [{}],
  ) as { readonly [Name in keyof T]: T[Name][number] }[];
}

it('refuses while the store is away what it refuses otherwise', async () => {
  const allows = combinations({
    categories: [['DB_*']],
    actions: [undefined, ['enable']],
    maxDuration: [undefined, '1m'],
    maxBudget: [undefined, { calls: 5 }],
    tenants: [undefined, ['ac*']],
  });
  const attempts = combinations({
    action: ['enable', 'disable', 'toggle', 'reset'],
    category: ['DB_POOL', 'HTTP'],
    scope: [GLOBAL, ACME, { key: 'beta', tenantId: 'beta' }],
    duration: [undefined, 60, 61],
    otelrdcp_budget: [undefined, { calls: 5 }, { calls: 6 }],
  });
  const fields = new Set<unknown>();
  for (const allow of allows) {
    const there = await start(allow);
    const shared = breakableStore();
    const away = await start(allow, shared.store);
    shared.mode.down = true;
    await away.control(enable(['CACHE'], { duration: 60 }));
    for (const { action, category, scope, ...lasting } of attempts) {
      const options = action === 'reset' ? {} : lasting;
      // Only a temporary control is possible without the store.
      const isTemporary = Object.values(options).some((value) => value !== undefined);
      const request: ControlRequest = { action, categories: [category], options };
      const field = await there.refusedField(request, { scope });
      const before = away.plane.view(scope);
      if (!isTemporary) assert.equal(await code(away.limited(request, { scope })), 'RDCP_UNAVAILABLE');
      else {
        assert.equal(await away.refusedField(request, { scope }), field, JSON.stringify({ allow, scope, request }));
        fields.add(field);
      }
      if (field !== 'none') assert.deepEqual(away.plane.view(scope), before);
    }
    for (const { plane, audit } of [there, away]) {
      await plane.close();
      await audit.close();
    }
  }
  assert.deepEqual(
    [...fields].sort(),
    ['action', 'categories', 'none', 'options.duration', 'options.otelrdcp_budget', 'tenant'],
    'every kind of refusal',
  );
});

describe('what a request leaves open', () => {
  const defaults = {
    defaultDuration: 900,
    maxDuration: 86_400,
    configuredRate: (name: string) => ({ DB_POOL: 500, DB_QUERY: 10 })[name],
  };
  const optionsOf = (allow: Allow, request: ControlRequest) => withDefaultsOf(allow, request, defaults).options;

  it('is the longest time of the credential, where that is shorter than the default', () => {
    const temporary = enable(['DB_POOL'], { temporary: true });
    assert.deepEqual(optionsOf({ ...DB, maxDuration: '5m' }, temporary), { temporary: true, duration: 300 });
    assert.deepEqual(optionsOf({ ...DB, maxDuration: '1h' }, temporary), { temporary: true });
    assert.deepEqual(optionsOf({ ...DB, maxDuration: '5m' }, enable(['DB_POOL'], { duration: 900 })), {
      duration: 900,
    });
    assert.equal(
      optionsOf({ ...DB, maxDuration: '5m' }, enable(['DB_POOL'])),
      undefined,
      'a permanent change has none',
    );
  });

  it('is its largest budget, without more calls a second than configured', () => {
    const allow: Allow = { ...DB, maxBudget: { callsPerSecond: 100, calls: 1000 } };
    const budgetOf = (categories: string[], options: ControlRequest['options']) =>
      optionsOf(allow, enable(categories, options))?.otelrdcp_budget;
    assert.deepEqual(budgetOf(['DB_POOL'], { duration: 60 }), { callsPerSecond: 100, calls: 1000 });
    assert.deepEqual(budgetOf(['DB_POOL', 'DB_QUERY'], { duration: 60 }), { callsPerSecond: 10, calls: 1000 });
    assert.deepEqual(budgetOf(['DB_NEW'], { duration: 60 }), { callsPerSecond: 100, calls: 1000 });
    assert.deepEqual(budgetOf(['DB_POOL'], { otelrdcp_budget: { callsPerSecond: 7 } }), {
      callsPerSecond: 7,
      calls: 1000,
    });
    assert.equal(budgetOf(['DB_POOL'], { duration: 60, otelrdcp_budget: false }), false, 'and is refused');
    assert.equal(budgetOf(['DB_POOL'], {}), undefined);
    const disable: ControlRequest = { action: 'disable', categories: ['DB_POOL'], options: { duration: 60 } };
    assert.deepEqual(optionsOf(allow, disable), { duration: 60 });
    assert.deepEqual(optionsOf({ ...DB, maxBudget: { calls: 5 } }, enable(['DB_POOL'], { duration: 60 })), {
      duration: 60,
      otelrdcp_budget: { calls: 5 },
    });
  });
});

describe('allow as it is written', () => {
  it('is refused if it is empty or malformed', () => {
    for (const wrong of [
      {},
      { categories: [] },
      { categories: ['db_*'] },
      { categories: ['*_POOL'] },
      { ...DB, actions: [] },
      { ...DB, actions: ['status'] },
      { ...DB, maxDuration: '0m' },
      { ...DB, maxDuration: 'long' },
      { ...DB, maxBudget: {} },
      { ...DB, tail: 'none' },
      { ...DB, tenants: [] },
      { ...DB, category: 'DB_POOL' },
    ]) {
      assert.equal(allowSchema.safeParse(wrong).success, false, JSON.stringify(wrong));
    }
    for (const categories of [['*'], ['X-*'], ['X-A-B'], ['DB_POOL', 'DB_*']]) {
      assert.equal(allowSchema.safeParse({ categories }).success, true, String(categories));
    }
  });

  it('has nothing in common with one that excludes it', () => {
    const both = (one: Allow, other: Allow) => commonLimits({ allow: one }, { allow: other });
    assert.equal(both(DB, { categories: ['HTTP'] }), undefined);
    assert.equal(both({ ...DB, actions: ['enable'] }, { ...DB, actions: ['reset'] }), undefined);
    assert.equal(both({ ...DB, tenants: ['a'] }, { ...DB, tenants: ['b*'] }), undefined);
  });

  it('has in common with another what both allow, in either order', () => {
    const one: Allow = {
      categories: ['DB_*', 'HTTP'],
      actions: ['enable', 'tail'],
      maxDuration: '1h',
      maxBudget: { calls: 5, bytes: 9 },
      tenants: ['a*'],
    };
    const other: Allow = {
      categories: ['DB_POOL', 'H*'],
      maxDuration: 60,
      maxBudget: { calls: 7, callsPerSecond: 3 },
      tail: 'redacted',
      tenants: ['acme', 'b'],
    };
    for (const [first, second] of [
      [one, other],
      [other, one],
    ] as const) {
      const common = commonLimits({ allow: first, approval: true }, { allow: second, approval: true });
      assert.deepEqual(
        { ...common?.allow, categories: common?.allow?.categories.toSorted() },
        {
          categories: ['DB_POOL', 'HTTP'],
          actions: ['enable', 'tail'],
          maxDuration: 60,
          maxBudget: { calls: 5, bytes: 9, callsPerSecond: 3 },
          tail: 'redacted',
          tenants: ['acme'],
        },
      );
      assert.equal(common?.approval, true);
    }
    assert.equal(commonLimits({ allow: DB, approval: true }, { allow: DB })?.approval, false);
    assert.deepEqual(commonLimits({ allow: DB, approval: true }, {}), { allow: DB, approval: true });
    assert.deepEqual(commonLimits({ approval: true }, {}), {});
  });
});

// Whatever is asked for, in whatever state: what is outside of `allow` stays as it is.

const name = fc.constantFrom(...NAMES, 'CACHE');
const categories = fc.uniqueArray(name, { minLength: 1, maxLength: 3 });
const budget = fc.oneof(
  fc.constant(false as const),
  fc.record({ callsPerSecond: fc.constantFrom(1, 20, 50), calls: fc.constantFrom(5, 1000) }),
);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const ending = fc.record({
  otelrdcp_id: optional(fc.constantFrom('first', 'second')),
  otelrdcp_only: optional(fc.constant('temporary' as const)),
});
const lasting = fc.record({
  temporary: optional(fc.constant(true)),
  duration: optional(fc.constantFrom(60, 900, 3600)),
  otelrdcp_budget: optional(budget),
});
const part = fc.record({ otelrdcp_filter: optional(fc.constant({ sample: 0.5 })) });
const command = fc.oneof(
  fc.tuple(fc.constant('enable' as const), categories, lasting, part),
  fc.tuple(fc.constantFrom('toggle' as const, 'disable' as const), categories, lasting, fc.constant({})),
  fc.tuple(fc.constantFrom('reset' as const, 'disable' as const), optional(categories), ending, fc.constant({})),
);
const allowed: fc.Arbitrary<Allow> = fc.record({
  categories: fc.uniqueArray(fc.constantFrom('DB_*', 'DB_POOL', 'HTTP', 'D*'), { minLength: 1, maxLength: 2 }),
  actions: optional(fc.uniqueArray(fc.constantFrom('enable', 'disable', 'toggle', 'reset'), { minLength: 1 })),
  maxDuration: optional(fc.constantFrom('1m', 900)),
  maxBudget: optional(fc.constant({ callsPerSecond: 20, calls: 1000 })),
});

function requestOf([action, names, first, second]: readonly [
  ControlRequest['action'],
  string[] | undefined,
  object,
  object,
]): ControlRequest {
  const options = Object.entries({ ...first, ...second }).filter(([, value]) => value !== undefined);
  return { action, ...(names && { categories: names }), options: Object.fromEntries(options) };
}

const stateIn = async (store: ReturnType<typeof createMemoryStore>): Promise<ScopeState> =>
  (await store.load()).get(GLOBAL.key) ?? { revision: 0, settings: new Map() };

const outside = (settings: Settings, { categories: patterns }: Allow) =>
  [...settings].filter(([each]) => !matchesAny(patterns, each)).sort();

it('a credential with allow changes nothing outside of it, whatever the command', async () => {
  let made = 0;
  await fc.assert(
    fc.asyncProperty(allowed, fc.array(fc.tuple(fc.boolean(), command), { maxLength: 12 }), async (allow, commands) => {
      const { store, control, limited, plane, audit } = await start(allow);
      const ids = new Map<string, string | undefined>();
      const send = async (who: typeof control, request: ControlRequest) => {
        const id = ids.get(request.options?.otelrdcp_id ?? '');
        const options = id === undefined ? request.options : { ...request.options, otelrdcp_id: id };
        return who({ ...request, ...(options && { options }) });
      };
      for (const [first, names] of [
        ['first', ['DB_POOL', 'HTTP']],
        ['second', ['DB_POOL']],
      ] as const) {
        const { response } = await control(enable([...names], { otelrdcp_filter: { sample: 1 } }));
        ids.set(first, response.otelrdcp_activation?.id);
      }
      for (const [isOperator, drawn] of commands) {
        const request = requestOf(drawn);
        const before = await stateIn(store);
        const outcome = await send(isOperator ? control : limited, request).catch((error: unknown) => {
          assert.ok(isRdcpError(error), String(error));
        });
        if (isOperator) continue;
        const after = await stateIn(store);
        if (outcome === undefined) {
          assert.deepEqual([after.settings, after.activations], [before.settings, before.activations]);
          continue;
        }
        made += 1;
        assert.ok(allow.actions?.includes(request.action as 'enable') !== false);
        assert.deepEqual(outside(after.settings, allow), outside(before.settings, allow));
        const others = (each: Activation) => each.categories.filter((one) => !matchesAny(allow.categories, one));
        const idsOf = (state: ScopeState) =>
          (state.activations ?? []).flatMap((each) => others(each).map((one) => `${each.id} ${one}`));
        assert.deepEqual(idsOf(after), idsOf(before), 'activations of other categories');
        for (const [each, { permanent, temporary }] of after.settings) {
          const was = before.settings.get(each);
          if (allow.maxDuration !== undefined) assert.equal(permanent, was?.permanent, each);
          if (allow.maxBudget !== undefined && permanent === true) assert.equal(was?.permanent, true, each);
          if (temporary === undefined || temporary === was?.temporary) continue;
          const seconds = (temporary.expiresAt - (temporary.by?.at ?? 0)) / 1000;
          if (allow.maxDuration !== undefined) assert.ok(seconds <= (allow.maxDuration === '1m' ? 60 : 900), each);
          if (allow.maxBudget === undefined || !temporary.enabled) continue;
          assert.ok(
            temporary.budget && temporary.budget.callsPerSecond! <= 20 && temporary.budget.calls! <= 1000,
            each,
          );
        }
      }
      await plane.close();
      await audit.close();
    }),
    { numRuns: 300 },
  );
  assert.ok(made > 50, `${made} changes were within`);
});
