import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { change, replayRecord } from './contract/samples.ts';
import { eventually, type Follower, PATIENCE_MS } from './follower.ts';

/** A change that the store said it has kept. */
export interface Acknowledged {
  /** The id of its audit entry. */
  readonly id: string;
  readonly revision: number | undefined;
  readonly by: Follower;
}

/**
 * All toggle one category at once, each so many times. One whose answer was lost is asked for again under its request id, as
 * a client does.
 * @param toggled is called after each
 */
export async function toggleAtOnce(
  followers: readonly Follower[],
  times: number,
  toggled: () => void = () => {},
): Promise<Acknowledged[]> {
  const acknowledged: Acknowledged[] = [];
  await Promise.all(
    followers.map(async (by, process) => {
      for (let done = 0; done < times; ) {
        const state = await eventually(() => by.store.load(), PATIENCE_MS);
        const current = state.get(GLOBAL_SCOPE) ?? { revision: 0, settings: new Map() };
        const permanent = !(current.settings.get('FLIP')?.permanent ?? false);
        const replay = replayRecord({ key: `process-${process}-${done}` });
        const commit = change(GLOBAL_SCOPE, current.revision, { FLIP: { permanent } }, { replay });
        const result = await eventually(() => by.store.commit(commit), PATIENCE_MS);
        if (result.outcome === 'conflict') continue;
        if (result.outcome === 'committed') acknowledged.push({ id: commit.audit.id, revision: result.revision, by });
        done += 1;
        toggled();
      }
    }),
  );
  return acknowledged;
}
