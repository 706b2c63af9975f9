import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expire, type Snapshot, transition } from '../../src/control/transition.ts';
import type { Setting, Settings } from '../../src/store/state-store.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';

const LIMITS = { defaultDuration: 900, maxDuration: 86_400, maxTemporary: 3 };
const DEFAULTS = new Map([
  ['A', false],
  ['B', true],
  ['C', false],
  ['D', false],
]);
const NOW = Date.UTC(2026, 0, 1);

function situation(global: Record<string, Setting> = {}, tenant?: Record<string, Setting>, now = NOW): Snapshot {
  return {
    global: new Map(Object.entries(global)),
    ...(tenant !== undefined && { tenant: new Map(Object.entries(tenant)) }),
    defaults: DEFAULTS,
    limits: LIMITS,
    ended: (overlay) => overlay.expiresAt <= now,
  };
}

function settingsOf(settings: Settings): Record<string, Setting> {
  return Object.fromEntries(settings);
}

function refusal(run: () => unknown): { code: string; details: unknown } {
  try {
    run();
  } catch (error) {
    assert.ok(isRdcpError(error), String(error));
    return { code: error.code, details: error.details };
  }
  throw new assert.AssertionError({ message: 'nothing was refused' });
}

test('naming a duration means temporary; temporary without one lasts the default', () => {
  const named = transition(situation(), { action: 'disable', categories: ['B'], options: { duration: 7 } }, NOW);
  assert.equal(named.settings.get('B')?.temporary?.expiresAt, NOW + 7000);
  const unnamed = transition(situation(), { action: 'enable', categories: ['A'], options: { temporary: true } }, NOW);
  assert.equal(unnamed.settings.get('A')?.temporary?.expiresAt, NOW + 900_000);
});

test('the 64 newest permanent settings of a scope say who made them', () => {
  const names = Array.from({ length: 66 }, (_, index) => `C${index}`);
  const defaults = new Map(names.map((name) => [name, false]));
  let settings: Settings = new Map();
  const saying = () => [...settings].filter(([, { by }]) => by !== undefined).map(([name]) => name);
  for (const [index, name] of names.entries()) {
    const snapshot = { ...situation(), global: settings, defaults };
    const request: ControlRequest = { action: 'enable', categories: [name] };
    ({ settings } = transition(snapshot, request, NOW + index, { userId: 'ada' }));
    if (index === 63) assert.deepEqual(saying(), names.slice(0, 64));
  }
  assert.deepEqual(saying(), names.slice(2));
  assert.ok([...settings.values()].every(({ permanent }) => permanent));
});

test('an unknown name among known ones refuses all, and the error lists twenty of many', () => {
  const refused = (...categories: string[]) =>
    refusal(() => transition(situation(), { action: 'enable', categories }, NOW));
  assert.deepEqual(refused('A', 'X', 'Y'), { code: 'RDCP_CATEGORY_NOT_FOUND', details: { unknown: ['X', 'Y'] } });
  const names = Array.from({ length: 8000 }, (_, index) => `X${index}`);
  assert.deepEqual(refused(...names).details, { unknown: names.slice(0, 20), unknownCount: 8000 });
});

test('too long a duration is refused, not shortened', () => {
  const request: ControlRequest = { action: 'enable', categories: ['A'], options: { duration: 86_401 } };
  assert.deepEqual(
    refusal(() => transition(situation(), request, NOW)),
    { code: 'RDCP_MALFORMED_REQUEST', details: { field: 'options.duration', maximum: '1d' } },
  );
});

test('the limit on temporary controls counts the live ones of the addressed scope', () => {
  const live = { temporary: { enabled: true, expiresAt: NOW + 1 } };
  const over = { temporary: { enabled: true, expiresAt: NOW } };
  const add: ControlRequest = { action: 'enable', categories: ['D'], options: { duration: 60 } };
  assert.deepEqual(
    refusal(() => transition(situation({ A: live, B: live, C: live }), add, NOW)),
    { code: 'RDCP_TEMPORARY_LIMIT', details: { maximum: 3 } },
  );
  assert.ok(transition(situation({ A: live, B: live, C: over }), add, NOW).settings.has('D'));
  assert.ok(transition(situation({ A: live, B: live, C: live }, {}), add, NOW).settings.has('D'));
  const renew: ControlRequest = { action: 'disable', categories: ['A'], options: { duration: 60 } };
  assert.ok(transition(situation({ A: live, B: live, C: live }), renew, NOW).settings.has('A'));
});

test('an expiry drops what is over, shows the layer below, and leaves the rest', () => {
  const over = { enabled: true, expiresAt: NOW };
  const before = situation({
    A: { permanent: false, temporary: over },
    B: { temporary: { enabled: false, expiresAt: NOW + 1 } },
    UNREGISTERED: { temporary: over },
  });
  const expiry = expire(before, NOW);
  assert.deepEqual(expiry && settingsOf(expiry.settings), {
    A: { permanent: false },
    B: { temporary: { enabled: false, expiresAt: NOW + 1 } },
  });
  assert.deepEqual(expiry?.categories, ['A', 'UNREGISTERED']);
  assert.deepEqual(
    expiry?.changes.map(({ category, previousState, newState }) => [category, previousState, newState]),
    [['A', true, false]],
  );
  assert.equal(expire(situation({ A: { permanent: true } }), NOW), undefined);
});

// A model without layers of maps: for each scope and category, what was last said for good, and what for a while.
interface Model {
  permanent: Record<string, boolean | undefined>;
  temporary: Record<string, { enabled: boolean; until: number } | undefined>;
}

const CATEGORIES = ['A', 'B', 'C', 'D'];
const step = fc.record({
  scope: fc.constantFrom('global' as const, 'tenant' as const),
  action: fc.constantFrom(
    'enable' as const,
    'disable' as const,
    'toggle' as const,
    'reset' as const,
    'status' as const,
  ),
  categories: fc.subarray(CATEGORIES, { minLength: 1 }),
  seconds: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
  elapsed: fc.integer({ min: 0, max: 15_000 }),
});

/** The state, and the end of a temporary one. */
type Shown = readonly [enabled: boolean, until?: number];

function says({ permanent, temporary }: Model, category: string, now: number): Shown | undefined {
  const overlay = temporary[category];
  if (overlay !== undefined && overlay.until > now) return [overlay.enabled, overlay.until];
  const enabled = permanent[category];
  return enabled === undefined ? undefined : [enabled];
}

function settingOf({ permanent, temporary }: Model, category: string, now: number): Setting | undefined {
  const { [category]: enabled } = permanent;
  const { [category]: overlay } = temporary;
  const setting: Setting = {
    ...(enabled !== undefined && { permanent: enabled }),
    ...(overlay && overlay.until > now && { temporary: { enabled: overlay.enabled, expiresAt: overlay.until } }),
  };
  return Object.keys(setting).length === 0 ? undefined : setting;
}

test('any sequence of commands and times agrees with a simple model, in states, ends and both layers', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const models = {
        global: { permanent: {}, temporary: {} } as Model,
        tenant: { permanent: {}, temporary: {} } as Model,
      };
      const scopes = { global: new Map() as Settings, tenant: new Map() as Settings };
      let now = NOW;
      const effective = (scope: 'global' | 'tenant', category: string): Shown =>
        (scope === 'tenant' ? says(models.tenant, category, now) : undefined) ??
        says(models.global, category, now) ?? [DEFAULTS.get(category) === true];

      for (const { scope, action, categories, seconds, elapsed } of steps) {
        now += elapsed;
        const at = now;
        const current: Snapshot = {
          global: scopes.global,
          ...(scope === 'tenant' && { tenant: scopes.tenant }),
          defaults: DEFAULTS,
          limits: { ...LIMITS, maxTemporary: 4 },
          ended: (overlay) => overlay.expiresAt <= at,
        };
        const swept = expire(current, now);
        if (swept !== undefined) scopes[scope] = swept.settings;
        const switches = action !== 'reset' && action !== 'status';
        const options = switches && seconds !== undefined ? { duration: seconds } : undefined;
        // Where none is named, all are meant.
        const named = !switches && categories.length === CATEGORIES.length ? {} : { categories };
        const request: ControlRequest = { action, ...named, ...(options !== undefined && { options }) };
        const before = categories.map((category) => effective(scope, category));
        const { settings, ...outcome } = transition(
          { ...current, global: scopes.global, ...(scope === 'tenant' && { tenant: scopes.tenant }) },
          request,
          now,
        );
        scopes[scope] = settings;

        const model = models[scope];
        for (const [position, category] of categories.entries()) {
          if (action === 'status') continue;
          const target = action === 'toggle' ? !before[position]?.[0] : action === 'enable';
          if (action === 'reset') model.permanent[category] = undefined;
          else if (seconds === undefined) model.permanent[category] = target;
          model.temporary[category] =
            action === 'reset' || seconds === undefined ? undefined : { enabled: target, until: now + seconds * 1000 };
        }
        const after = categories.map((category) => effective(scope, category));
        assert.deepEqual(outcome.categories, categories);
        for (const category of categories) assert.deepEqual(settings.get(category), settingOf(model, category, now));
        assert.deepEqual(
          outcome.changes,
          categories.map((category, position) => {
            const [newState, until] = after[position]!;
            const ends = until !== undefined && { expiresAt: new Date(until).toISOString() };
            const effectiveAt = new Date(now).toISOString();
            const previousState = before[position]![0];
            return { category, previousState, newState, temporary: ends !== false, effectiveAt, ...ends };
          }),
        );
      }
    }),
    { numRuns: 500 },
  );
});
