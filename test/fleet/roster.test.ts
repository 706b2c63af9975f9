import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeInstance } from '../../src/control/fleet/fleet.ts';
import { Roster } from '../../src/control/fleet/roster.ts';
import { resourceAttribute } from '../../src/otel/telemetry.ts';
import { type FleetView, GONE_MS, type Instance } from '../../src/store/fleet.ts';
import type { Position } from '../../src/store/state-store.ts';
import { virtualTime } from '../support/virtual-time.ts';

const MINUTE_MS = 60_000;
const instance = (id: string): Instance => ({ id, host: 'h', pid: id.charCodeAt(0), service: 's', startedAt: 0 });
const at = (revision: number, history = 'one'): Position => ({ history, revision });
const announced = (id: string, applied?: Position, silentFor = 0): FleetView['instances'][number] => ({
  ...instance(id),
  silentFor,
  ...(applied && { applied }),
});

function start(own: Position | null = at(5)) {
  const time = virtualTime();
  const withdrawn: string[] = [];
  const ended = new Set<string>();
  let view: FleetView = { current: at(5), instances: [] };
  const roster = new Roster({
    store: {
      look: async () => view,
      heartbeats: async () => assert.fail('who is there is asked for'),
      beatMs: () => 1000,
      withdraw: async (id) => void withdrawn.push(id),
      hasEnded: ({ id }) => ended.has(id),
    },
    self: () => instance('self'),
    applied: () => own ?? undefined,
    failed: () => {},
    clock: time.clock,
  });
  const saw = async (next: FleetView) => {
    view = next;
    await roster.look();
  };
  const silent = () => roster.silent().map((entry) => entry.instance.id);
  return { time, roster, saw, silent, withdrawn, ended };
}

test('this process counts although the store does not list it, by what it knows of itself', async () => {
  const { roster, saw } = start(at(5));
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 1, applied: 1, pending: [] });
  await saw({ current: at(5), instances: [announced('self', at(2))] });
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 1, applied: 1, pending: [] });
  assert.deepEqual(start(null).roster.summary(at(0)).pending, ['self']);
});

test('who has not applied the revision is pending, and so is who has applied nothing, or another history', async () => {
  const { roster, saw } = start(at(9, 'lost'));
  const of = [announced('c', at(4)), announced('b'), announced('a', at(6)), announced('d', at(9, 'lost'))];
  await saw({ current: at(5), instances: of });
  const pending = ['b', 'c', 'd', 'self'];
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 5, applied: 1, pending });
});

test('an instance that falls silent stays pending, with when it was heard of, whatever it had applied', async () => {
  const { roster, saw, silent, time } = start();
  await saw({ current: at(5), instances: [announced('a', at(5), 1_000), announced('b', at(5))] });
  await time.pass(GONE_MS - 1_000);
  assert.deepEqual([roster.summary(at(5)).applied, silent()], [3, []]);
  await time.pass(1);
  assert.deepEqual(roster.summary(at(5)), {
    revision: 5,
    instances: 3,
    applied: 2,
    pending: ['a'],
    lastSeen: { a: '2025-12-31T23:59:59.000Z' },
  });
  assert.equal(roster.summary(at(5), ['b', 'self']).instances, 2);
  await saw({ current: at(6), instances: [announced('a', at(6)), announced('b', at(6))] });
  assert.deepEqual([roster.summary(at(5)).applied, silent()], [3, []], 'it is back');
  await saw({ current: at(6), instances: [announced('b', at(6))] });
  assert.equal(roster.summary(at(5)).instances, 2, 'it has withdrawn');
});

test('an instance that announces itself less often is waited for longer, which the summary says', async () => {
  const { roster, saw, silent, time } = start();
  const seldom = { ...announced('a', at(5)), goneAfter: 60_500 };
  await saw({ current: at(5), instances: [seldom, announced('b', at(5))] });
  await time.pass(60_500);
  assert.deepEqual([roster.summary(at(5)).goneAfterSeconds, silent()], [61, ['b']]);
  await time.pass(1);
  assert.deepEqual(silent(), ['a', 'b']);
});

test('an instance that is silent counts for five minutes, or until the controls that it knew have ended', async () => {
  const { saw, silent, withdrawn, time } = start();
  const { now } = time.clock;
  const controlled = { ...announced('b', at(5)), controlsEnd: now() + 60 * MINUTE_MS };
  const looks: readonly (readonly [afterMs: number, silent: string[], withdrawn: string[]])[] = [
    [GONE_MS + 5 * MINUTE_MS, ['a', 'b'], []],
    [GONE_MS + 5 * MINUTE_MS + 1, ['b'], ['a']],
    [60 * MINUTE_MS, ['b'], ['a']],
    [60 * MINUTE_MS + 1, [], ['a', 'b']],
  ];
  for (const [silentFor, ...expected] of looks) {
    withdrawn.length = 0;
    await time.pass(silentFor - (now() - Date.UTC(2026, 0, 1)));
    await saw({
      current: at(5),
      instances: [
        { ...announced('a', at(5)), silentFor },
        { ...controlled, silentFor },
      ],
    });
    assert.deepEqual([silent(), withdrawn], expected, `${silentFor} ms`);
  }
});

test('an instance that has certainly ended counts no more', async () => {
  const { saw, silent, withdrawn, ended } = start();
  const gone = (id: string) => announced(id, at(5), GONE_MS + 1);
  const restarted = { ...announced('a2', at(5)), pid: instance('a').pid, startedAt: 1 };
  ended.add('b').add('d');
  await saw({ current: at(5), instances: [gone('a'), restarted, gone('b'), gone('c'), announced('d', at(5))] });
  assert.deepEqual([silent(), withdrawn], [['c'], ['a', 'b']]);
});

test('an instance that is listed twice is the one that was heard of last', async () => {
  const { saw, silent } = start();
  const twice = [announced('a', at(5)), announced('a', at(4), GONE_MS + 1)];
  for (const instances of [twice, twice.toReversed()]) {
    await saw({ current: at(5), instances });
    assert.deepEqual(silent(), []);
  }
});

test('after the store lost its list with its history, who was on it counts as before', async () => {
  const { roster, saw, silent, time } = start(at(0, 'two'));
  const gone = announced('c', at(5), GONE_MS + 1);
  await saw({ current: at(5), instances: [announced('a', at(5)), announced('b', at(5)), gone] });
  await time.pass(MINUTE_MS);
  const emptied = { current: at(0, 'two'), instances: [announced('a', at(0, 'two'))] };
  await saw(emptied);
  assert.deepEqual(roster.summary(at(0, 'two')).pending, ['b', 'c']);
  assert.deepEqual(silent(), ['c']);
  await time.pass(GONE_MS);
  await saw(emptied);
  assert.deepEqual(silent(), ['c'], 'b has just as long as any other');
  await time.pass(1);
  await saw(emptied);
  assert.deepEqual(silent(), ['b', 'c']);
  await time.pass(5 * MINUTE_MS + GONE_MS);
  await saw(emptied);
  assert.deepEqual(roster.summary(at(0, 'two')).instances, 2);
});

const facts = { id: 'i', host: 'h', pid: 7, startedAt: 1, packageName: () => undefined };
const name = (env: Record<string, string>) => {
  const { service, version } = describeInstance({
    ...facts,
    env,
    resource: (attribute) => resourceAttribute(attribute, env),
  });
  return [service, version];
};

test('OpenTelemetry’s variables name the service and its version', () => {
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'a=b, service.name=cart%20east ,service.version=1.4,=,x,broken=%' };
  assert.deepEqual(name({}), ['unknown_service', undefined]);
  assert.deepEqual(name(attributes), ['cart east', '1.4']);
  assert.deepEqual(name({ ...attributes, OTEL_SERVICE_NAME: 'cart' }), ['cart', '1.4']);
  assert.deepEqual(name({ ...attributes, OTEL_SERVICE_NAME: '' }), ['cart east', '1.4']);
});

test('a service that nothing names has the name of its package', () => {
  const named = (service: string | undefined) =>
    describeInstance({
      ...facts,
      env: {},
      resource: (name) => (name === 'service.name' ? service : undefined),
      packageName: () => 'shop-app',
    }).service;
  assert.equal(named(undefined), 'shop-app');
  assert.equal(named('unknown_service:node'), 'shop-app', "the SDK's own name for it");
  assert.equal(named('shop'), 'shop');
});

test('a member of the fleet keeps its own id beside that of its resource, which others may share', () => {
  const env = { OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-1' };
  const resource = (name: string) => resourceAttribute(name, env);
  const { id, serviceInstanceId } = describeInstance({ ...facts, env, resource });
  assert.deepEqual([id, serviceInstanceId], ['i', 'pod-1']);
});
