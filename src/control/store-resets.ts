import type { Condition } from '../otel/report/conditions.ts';
import { GLOBAL_SCOPE, type StoreReset } from '../store/state-store.ts';
import type { ChangeRecord } from '../wire/messages.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { timestamp } from '../wire/time.ts';
import type { CategoryView, Writer } from './types.ts';
import type { Views } from './views.ts';

/** How long health reports a loss when nothing is changed after it, in milliseconds. */
const REPORTED_MS = 3_600_000;
/** How long the claim lasts that keeps other processes from recording the same loss, in milliseconds. */
const CLAIM_MS = 86_400_000;

const REASON = {
  empty: 'the store came back empty',
  rollback: 'the store came back with an older state',
} as const;

export interface StoreResetsOptions {
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly views: Pick<Views, 'of'>;
  readonly delay: Delay;
  /** Holds from a loss until the next change, for an hour at most. */
  readonly condition: Condition;
}

/** Reports acknowledged changes that the store has lost: once in the audit trail for all processes, and in health. */
export class StoreResets {
  readonly #options: StoreResetsOptions;
  /** When the state after the last loss was applied, on the monotonic clock. */
  #since: number | undefined;
  #cancelEnd = () => {};

  constructor(options: StoreResetsOptions) {
    this.#options = options;
  }

  /** Whether the store has lost state and nothing was changed since. */
  get unseen(): boolean {
    return this.#since !== undefined && this.#options.clock.monotonic() - this.#since < REPORTED_MS;
  }

  /** Called once the store's present state is in force. The first process to get here writes the audit entry. */
  async report({ reason, history }: StoreReset, before: readonly CategoryView[]): Promise<void> {
    const { writer, clock, delay, condition } = this.#options;
    this.#since = clock.monotonic();
    condition.begin(`the store has lost changes: ${REASON[reason]}`);
    this.#cancelEnd();
    this.#cancelEnd = delay(REPORTED_MS, condition.end);
    const changes = this.#changesFrom(before);
    const categories = changes.map(({ category }) => category);
    await writer.note({
      draft: { action: 'state_reset', categories, changes, outcome: 'success', identity: {}, reason: REASON[reason] },
      replay: { key: `state_reset ${history}`, fingerprint: '', response: '', expiresAt: clock.now() + CLAIM_MS },
    });
  }

  /** Called after a change: the loss needs no further attention. */
  changed(): void {
    this.#since = undefined;
    this.#cancelEnd();
    this.#options.condition.end();
  }

  #changesFrom(before: readonly CategoryView[]): readonly ChangeRecord[] {
    const effectiveAt = timestamp(this.#options.clock.now());
    const previous = new Map(before.map(({ name, enabled }) => [name, enabled]));
    return this.#options.views.of(GLOBAL_SCOPE).flatMap(({ name, enabled, temporary, expiresAt }) => {
      const previousState = previous.get(name) ?? enabled;
      if (previousState === enabled) return [];
      const end = expiresAt === undefined ? {} : { expiresAt: timestamp(expiresAt) };
      return [{ category: name, previousState, newState: enabled, temporary, effectiveAt, ...end }];
    });
  }
}
