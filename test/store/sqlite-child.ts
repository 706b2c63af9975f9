// A process of its own on a SQLite file: `append` commits until it is killed, `toggle` flips a category a number of
// times against others. Every acknowledged step is a line on stdout.
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { GLOBAL_SCOPE, type ScopeState, type StateStore } from '../../src/store/state-store.ts';
import { auditEntry, NOW, replayRecord } from './contract/samples.ts';

const [command, file, count] = process.argv.slice(2) as [string, string, string | undefined];
const store = createSqliteStore(file);

function acknowledge(line: string): void {
  writeSync(1, `${line}\n`);
}

function hashOf(sequence: number): string {
  return sequence === 0 ? '0'.repeat(64) : createHash('sha256').update(String(sequence)).digest('hex');
}

/** Commits the successor of a state: the overlay's time, the audit entry's sequence and the replay key tell its number. */
async function commitNext(target: StateStore, state: ScopeState, enabled: boolean, requestId = '') {
  const sequence = state.revision + 1;
  const { compliance } = auditEntry();
  return target.commit({
    state: {
      scope: GLOBAL_SCOPE,
      expectedRevision: state.revision,
      settings: new Map([['FLIP', { permanent: enabled, temporary: { enabled, expiresAt: sequence } }]]),
    },
    audit: auditEntry({
      id: `entry-${sequence}`,
      action: 'toggle',
      compliance: { ...compliance, sequence, previousHash: hashOf(sequence - 1), hash: hashOf(sequence) },
    }),
    replay: replayRecord({
      key: `request-${requestId}${sequence}`,
      response: String(sequence),
      expiresAt: NOW + 300_000,
    }),
    now: NOW,
  });
}

async function current(): Promise<ScopeState> {
  return (await store.load()).get(GLOBAL_SCOPE) ?? { revision: 0, settings: new Map() };
}

async function append(): Promise<never> {
  let state = await current();
  acknowledge('ready');
  for (;;) {
    const result = await commitNext(store, state, state.revision % 2 === 0);
    if (result.outcome !== 'committed') throw new Error(`unexpected: ${result.outcome}`);
    state = { ...state, revision: state.revision + 1 };
    acknowledge(String(state.revision));
  }
}

async function toggle(times: number): Promise<void> {
  let state = await current();
  for (let done = 0; done < times; ) {
    const enabled = !(state.settings.get('FLIP')?.permanent ?? false);
    const result = await commitNext(store, state, enabled, `${process.pid}-`);
    if (result.outcome === 'conflict') {
      state = result.current;
      continue;
    }
    done += 1;
    acknowledge(String(result.outcome === 'committed' ? result.revision : result.outcome));
    state = await current();
    // Lets the other process have the lock now and then.
    await new Promise((resolve) => setTimeout(resolve, done % 3));
  }
  await store.close();
}

if (command === 'append') await append();
else await toggle(Number(count));
