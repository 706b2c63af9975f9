import { DROP } from '../../gate/drops.ts';
import { type Condition, UNWATCHED } from '../../otel/report/conditions.ts';
import type { Delay } from '../../wire/time/clock.ts';

/** After this long without a drop, in milliseconds, the reader has caught up. */
const QUIET_MS = 5000;

/** Reports lines dropped because the output is backlogged: when dropping begins, and with a count when it ends. */
export interface Backlog {
  /**
   * @param problem what is not being read
   * @param full whether the output is still backlogged; the condition then continues without further drops
   */
  drop(problem: string, full?: () => boolean): typeof DROP.backlog;
  close(): void;
}

export interface BacklogOptions {
  /** @default not reported */
  readonly condition?: Condition;
  /** @default without a timer, the condition never ends */
  readonly delay?: Delay;
}

export function createBacklog({ condition = UNWATCHED, delay = () => () => {} }: BacklogOptions): Backlog {
  let dropped = 0;
  let checked = 0;
  let stillFull = () => false;
  let cancel: (() => void) | undefined;

  function check(): void {
    cancel = undefined;
    if (dropped === checked && !stillFull()) {
      condition.end(`${dropped} were dropped`);
      dropped = 0;
      checked = 0;
    } else wait();
  }

  function wait(): void {
    checked = dropped;
    cancel = delay(QUIET_MS, check);
  }

  return {
    drop(problem, full = () => false) {
      dropped += 1;
      stillFull = full;
      if (cancel === undefined) {
        condition.begin(problem);
        wait();
      }
      return DROP.backlog;
    },
    close: () => cancel?.(),
  };
}
