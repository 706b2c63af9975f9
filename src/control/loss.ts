import type { Clock, Delay } from '../clock.ts';
import type { Condition } from '../conditions.ts';
import type { ChangeRecord } from '../protocol/messages.ts';
import { timestamp } from '../protocol/time.ts';
import type { StoreReset } from '../store/state-store.ts';
import type { CategoryView } from './types.ts';
import type { Writer } from './writer.ts';

/** How long health tells of a loss where nobody changes anything after it, in milliseconds. */
const TOLD_MS = 3_600_000;
/** How long a process may have been away and still know that the loss is in the trail, in milliseconds. */
const NOTED_MS = 86_400_000;

const REASON = {
  empty: 'the store came back empty',
  rollback: 'the store came back with an older state',
} as const;

export interface LossesOptions {
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Every category as everybody sees it. */
  readonly view: () => readonly CategoryView[];
  readonly delay: Delay;
  /** Holds from a loss until something is switched, for an hour at most. */
  readonly condition: Condition;
}

/** Tells of state that a store had acknowledged and lost: in the trail, once for all processes, and to health. */
export function createLosses({ writer, clock, view, delay, condition }: LossesOptions) {
  /** When what the store holds after the last loss was taken over, on the monotonic clock. */
  let since: number | undefined;
  let cancelEnd = () => {};

  function changesFrom(before: readonly CategoryView[]): readonly ChangeRecord[] {
    const effectiveAt = timestamp(clock.now());
    const previous = new Map(before.map(({ name, enabled }) => [name, enabled]));
    return view().flatMap(({ name, enabled, temporary, expiresAt }) => {
      const previousState = previous.get(name) ?? enabled;
      if (previousState === enabled) return [];
      const end = expiresAt === undefined ? {} : { expiresAt: timestamp(expiresAt) };
      return [{ category: name, previousState, newState: enabled, temporary, effectiveAt, ...end }];
    });
  }

  return {
    /** Once what the store holds is in force. Whoever of the processes comes first writes the entry. */
    async tell({ reason, history }: StoreReset, before: readonly CategoryView[]): Promise<void> {
      since = clock.monotonic();
      condition.begin(`the store has lost changes: ${REASON[reason]}`);
      cancelEnd();
      cancelEnd = delay(TOLD_MS, condition.end);
      const changes = changesFrom(before);
      const draft = {
        action: 'state_reset',
        categories: changes.map(({ category }) => category),
        changes,
        outcome: 'success',
        identity: {},
        reason: REASON[reason],
      } as const;
      const expiresAt = clock.now() + NOTED_MS;
      const replay = { key: `state_reset ${history}`, fingerprint: '', response: '', expiresAt };
      await writer.write({ draft, replay }).catch(() => writer.writeLater({ draft, replay }));
    },

    /** Something is as somebody wants it again. */
    changed(): void {
      since = undefined;
      cancelEnd();
      condition.end();
    },

    /** Whether the store has lost state, and nobody has seen to it yet. */
    get unseen(): boolean {
      return since !== undefined && clock.monotonic() - since < TOLD_MS;
    },
  };
}
