import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CommandContext } from '../../src/control/types.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';
import { ACME, code, enable, GLOBAL, startPlane } from './running-plane.ts';

const WRITE_MS = 5;
const BACKLOG = 60;
const OTHER = { scope: { key: 'other', tenantId: 'other' } };

/** A plane on a store that takes 5 ms for each write, and how long the commands of two tenants take there. */
async function slowPlane(writeMs = WRITE_MS) {
  const time = virtualTime();
  const inner = createMemoryStore();
  const write = () => new Promise<void>((resolve) => void time.delay(writeMs, resolve));
  const store: StateStore = {
    ...inner,
    commit: (commit) => write().then(() => inner.commit(commit)),
  };
  const plane = await startPlane({ store, time });
  const timed = async (work: Promise<unknown>) => {
    const begun = time.clock.monotonic();
    await work;
    return time.clock.monotonic() - begun;
  };
  /** Lets time pass once the first write has begun. */
  const pass = async (milliseconds: number) => {
    await settled();
    await time.pass(milliseconds);
  };
  return { ...plane, pass, timed };
}

function tell(t: TestContext, what: string, milliseconds: number): number {
  const ratio = milliseconds / WRITE_MS;
  t.diagnostic(`${what}: ${milliseconds} ms, ${ratio} times what it takes alone`);
  return ratio;
}

const cases: Record<string, readonly [Partial<CommandContext>, Partial<CommandContext>]> = {
  'with settings of their own': [{ scope: ACME }, OTHER],
  'that address the same settings': [
    { scope: GLOBAL, tenant: { id: 'acme', name: 'acme' } as never },
    { scope: GLOBAL, tenant: { id: 'other', name: 'other' } as never },
  ],
};
for (const [which, [busy, other]] of Object.entries(cases)) {
  test(`tenants ${which}: the backlog of one holds a command of another up by one write at most`, async (t) => {
    const { control, pass, timed } = await slowPlane();
    const backlog = Promise.all(Array.from({ length: BACKLOG }, () => timed(control(enable(), busy))));
    const waited = timed(control(enable(), other));
    await pass((BACKLOG + 2) * WRITE_MS);
    assert.ok(tell(t, `behind ${BACKLOG} commands of another tenant`, await waited) <= 2);
    assert.equal((await backlog).at(-1), (BACKLOG + 1) * WRITE_MS);
  });
}

test('what is refused need not wait for the backlog of another tenant either', async (t) => {
  const { control, pass, timed } = await slowPlane();
  const backlog = Array.from({ length: BACKLOG }, () => control(enable(), { scope: ACME }));
  const refused = timed(code(control({ action: 'enable', categories: ['NOPE'] }, OTHER)));
  await pass((BACKLOG + 2) * WRITE_MS);
  await Promise.all(backlog);
  assert.ok(tell(t, 'a refusal and its audit entry', await refused) <= 3);
});

test('commands of one tenant are carried out in the order in which they came', async () => {
  const { control, pass } = await slowPlane();
  const order: string[] = [];
  const done = Promise.all(
    ['a1', 'b1', 'a2', 'a3', 'b2', 'b3'].map(async (id) => {
      await control(enable(), id.startsWith('a') ? { scope: ACME } : OTHER);
      order.push(id);
    }),
  );
  await pass(1000);
  await done;
  assert.deepEqual(order, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
});

test('a tenant whose backlog is long is refused more, with nothing changed, and no other is', async () => {
  const { control, pass, trail } = await slowPlane();
  const kept = Array.from({ length: 256 }, () => control(enable(), { scope: ACME }));
  assert.equal(await code(control(enable(60), { scope: ACME })), 'RDCP_UNAVAILABLE');
  const others = control(enable(), OTHER);
  await pass(257 * WRITE_MS);
  await Promise.all([...kept, others]);
  assert.equal((await trail()).length, 257);
});

test('on a slow link a command that has waited two seconds is refused, with nothing changed', async () => {
  const { control, pass, timed, trail } = await slowPlane(500);
  const answers = Array.from({ length: 9 }, () => timed(code(control(enable(), { scope: ACME }))));
  await pass(10_000);
  const times = await Promise.all(answers);
  assert.deepEqual(times, [500, 1000, 1500, 2000, 2500, 2500, 2500, 2500, 2500]);
  assert.equal((await trail()).length, 5);
});
