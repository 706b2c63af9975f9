import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pick, seededRandom } from '../../examples/shop/random.ts';
import { openStore } from '../../src/store/open.ts';
import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { type Checkpoint, createVerifier } from '../../src/trail/verify.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';
import { CATEGORIES } from '../support/categories.ts';
import { newStore } from '../support/folder.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import type { TestAnswer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { run } from './program.ts';
import { type Service, startService, testConfig, trailIn } from './service.ts';

const SEED = Number(process.env.RDCP_KILL_SEED ?? Date.now() % 1_000_000);
/** Clients that send at the same time. */
const CLIENTS = 8;

type States = Readonly<Record<string, boolean>>;

interface Sent {
  readonly id: string;
  readonly body: object;
  /** Absent where the kill came first. */
  answer?: TestAnswer<ControlResponse>;
}

const random = seededRandom(SEED);

function anyControl(): object {
  const action = pick(random, ['enable', 'disable', 'toggle', 'toggle', 'reset']);
  const categories = CATEGORIES.filter(() => random() < 0.6);
  return {
    action,
    categories: categories.length === 0 ? [...CATEGORIES] : categories,
    ...(action !== 'reset' && random() < 0.4 && { options: { temporary: true, duration: '1h' } }),
  };
}

/** Sends until the service is gone: it is killed shortly after it has acknowledged a number of changes. */
async function killUnderLoad(service: Service): Promise<Sent[]> {
  const sent: Sent[] = [];
  const killAfter = Math.floor(random() * 40);
  const grace = random() * 4;
  let acknowledged = 0;
  let killed = false;
  const kill = async () => {
    killed = true;
    // Finer than a timer can: over the course of a commit.
    const at = performance.now() + grace;
    while (performance.now() < at) if (random() < 0.01) await sleep(0);
    service.child.kill('SIGKILL');
  };
  const client = async () => {
    while (service.child.exitCode === null && service.child.signalCode === null) {
      const request: Sent = { id: randomUUID(), body: anyControl() };
      sent.push(request);
      try {
        request.answer = await service.control(request.body, request.id);
      } catch {
        return;
      }
      acknowledged += 1;
      if (acknowledged > killAfter && !killed) void kill();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  assert.equal(await service.ended, 'SIGKILL');
  return sent;
}

/** What is on after these entries; each must have found what the ones before it left. */
function replayTrail(before: States, entries: readonly AuditEntry[]): States {
  const states: Record<string, boolean> = { ...before };
  for (const { requestId, changes } of entries) {
    for (const { category, previousState, newState } of changes) {
      assert.equal(previousState, states[category], `${category} before ${requestId}`);
      states[category] = newState;
    }
  }
  return states;
}

async function storedStates(url: string): Promise<States> {
  const store = openStore(url);
  const settings = (await store.load()).get(GLOBAL_SCOPE)?.settings;
  await store.close();
  return Object.fromEntries(
    CATEGORIES.map((name) => {
      const setting = settings?.get(name);
      return [name, setting?.temporary?.enabled ?? setting?.permanent ?? false];
    }),
  );
}

/** What an answer says of the change itself; who has applied it meanwhile is another matter. */
const effectOf = ({ timestamp, action, categories, changes }: ControlResponse) => ({
  timestamp,
  action,
  categories,
  changes,
});

function assertAllOrNothing(sent: readonly Sent[], entries: readonly AuditEntry[]): ReadonlySet<string> {
  const kept = new Map<string, AuditEntry>();
  for (const entry of entries) {
    if (entry.requestId === undefined) continue;
    assert.ok(!kept.has(entry.requestId), `carried out twice: ${entry.requestId}`);
    kept.set(entry.requestId, entry);
  }
  for (const { id, answer } of sent) {
    if (answer === undefined) continue;
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(kept.get(id)?.changes, answer.body.changes, `acknowledged, but not as kept: ${id}`);
  }
  return new Set(kept.keys());
}

/** Sends everything once more: what was kept is answered as it was, and what was not is carried out now. */
async function sendAgain(service: Service, sent: readonly Sent[], kept: ReadonlySet<string>): Promise<void> {
  const repeat = async ({ id, body, answer }: Sent) => {
    const again = await service.control(body, id);
    assert.equal(again.status, 200, again.text);
    assert.equal(again.headers.get('x-rdcp-replayed') === 'true', kept.has(id), `kept and repeated: ${id}`);
    if (answer !== undefined) assert.deepEqual(effectOf(again.body), effectOf(answer.body));
  };
  await Promise.all(sent.map(repeat));
}

/** Kills a service that is still starting, so that a file is half made, or half recovered. */
async function killAtStart(t: TestContext, store: string): Promise<void> {
  const starting = run(t, join(import.meta.dirname, 'service-process.ts'), {
    args: [JSON.stringify({ config: testConfig({ store }), logsRecords: false, mounts: false })],
  });
  await sleep(random() * 700);
  await starting.kill();
}

const STORES = {
  SQLite: async (t: TestContext) => ({
    store: newStore(t),
    killed: async () => {},
  }),
  async PostgreSQL(t: TestContext) {
    const server = await startPostgres();
    t.after(() => server.close());
    const sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'opentelemetry%'";
    return {
      store: server.url,
      // The server finishes what it has received, although nobody waits for the answer.
      killed: () => until('the end of its sessions', () => (server.sql(sessions) === '0' ? true : undefined)),
    };
  },
};

/** Kills a service that often, at moments that `RDCP_KILL_SEED` draws. */
export function killRounds(rounds: number, on: keyof typeof STORES): void {
  const skip = on === 'PostgreSQL' && whyNoPostgres();
  test(`a service killed ${rounds} times while it acknowledges changes keeps each of them whole in ${on}`, {
    skip,
  }, async (t) => {
    t.diagnostic(`RDCP_KILL_SEED=${SEED}`);
    const { store, killed } = await STORES[on](t);
    const newerThan = async (id?: string) => (await trailIn(openStore(store), id)).reverse();
    const trail: AuditEntry[] = [];
    const checkpoints: Checkpoint[] = [];
    let states: States = Object.fromEntries(CATEGORIES.map((name) => [name, false]));
    let sent: Sent[] = [];
    let acknowledged = 0;
    let unacknowledgedButKept = 0;

    for (let round = 0; round <= rounds; round += 1) {
      if (random() < 0.1) await killAtStart(t, store);
      // Now the test is the first to open the file after the kill, and now the service itself.
      const early = random() < 0.5 && round > 0 ? await newerThan(trail.at(-1)?.id) : undefined;
      if (early !== undefined) assert.deepEqual(await storedStates(store), replayTrail(states, early));
      const service = await startService(t, { config: { store, announce: false } });
      const entries = early ?? (await newerThan(trail.at(-1)?.id));
      const kept = assertAllOrNothing(sent, entries);
      states = replayTrail(states, entries);
      assert.deepEqual(await storedStates(store), states);
      assert.deepEqual(await service.states(), states);
      trail.push(...entries);
      acknowledged += sent.filter(({ answer }) => answer !== undefined).length;
      unacknowledgedButKept += sent.filter(({ id, answer }) => answer === undefined && kept.has(id)).length;
      const head = trail.at(-1)?.compliance;
      if (head !== undefined) checkpoints.push(head);

      await sendAgain(service, sent, kept);
      const repeated = await newerThan(trail.at(-1)?.id);
      assert.deepEqual(
        repeated.map(({ requestId }) => requestId).sort(),
        sent
          .map(({ id }) => id)
          .filter((id) => !kept.has(id))
          .sort(),
      );
      states = replayTrail(states, repeated);
      trail.push(...repeated);
      if (round < rounds) {
        sent = await killUnderLoad(service);
        await killed();
      }
      assert.equal(service.output.stderr, '');
    }

    const verifier = createVerifier({ checkpoints });
    for (const entry of await trailIn(openStore(store))) verifier.see(entry);
    const { faults, first, cut, pruned, entries } = verifier.finish();
    assert.deepEqual(
      { faults, first, cut, pruned, entries },
      { faults: 0, first: undefined, cut: [], pruned: false, entries: trail.length },
    );
    assert.ok(acknowledged > rounds);
    t.diagnostic(
      `${acknowledged} acknowledged, ${unacknowledgedButKept} kept without an acknowledgement, ${trail.length} entries`,
    );
  });
}
