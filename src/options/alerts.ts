import type { Instances, LineFilter, Match, Target } from '../wire/target.ts';

/** What an alert switches on. */
export interface AlertOptions {
  /** Name of the rule in the audit trail: 1 to 100 letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /** Labels that an alert must have. A `*` at the end of a value matches any ending. @default none; then `when` has a trigger */
  readonly match?: Match | undefined;
  /** Names of the categories that are switched on, at most 100. */
  readonly enable: readonly string[];
  /** How long from the first notification, unless the alert is resolved before; at most `controls.maxDuration`. */
  readonly for: number | string;
  /** The tenant for which they are switched on; needs `tenancy`. @default all tenants */
  readonly tenant?: string | undefined;
  /** Whose work they are on for, in which processes. @default all work */
  readonly target?: AlertTargetOptions | undefined;
  /** The lines that are written. All that is given must hold. @default all lines */
  readonly filter?: AlertFilterOptions | undefined;
  /**
   * A trigger in place of `match`: one of `errorRate`, `eventLoopDelay` and `uncaught`. And whose lines are written: `failed`,
   * `slowerThan`.
   * @default whatever `match` says; all work
   */
  readonly when?: AlertWhenOptions | undefined;
  /** Pause after the end, in which the same alerts switch nothing. @default '10m' */
  readonly cooldown?: number | string | undefined;
}

/** Whose work, in which processes. */
export type AlertTargetOptions = Target;

/** Which processes, of those that have one of the categories. */
export type AlertInstancesOptions = Instances;

/** The lines that are written. */
export type AlertFilterOptions = LineFilter;

/** What switches the categories of an alert on, and which work has its lines written. */
export interface AlertWhenOptions {
  /** While this share of the work that ended, at least 20 pieces, has failed: above 0, up to 1. @default not measured */
  readonly errorRate?: number | undefined;
  /** The time of `errorRate`, up to its end now: at most `1h`. @default '1m' */
  readonly over?: number | string | undefined;
  /** `errorRate` also counts requests whose client hung up before the answer. @default they do not count */
  readonly aborted?: true | undefined;
  /** While the event loop is delayed so long, such as `200ms`: 99th percentile of the last seconds. @default not measured */
  readonly eventLoopDelay?: string | undefined;
  /** By an exception or rejection that the application does not catch, and survives. @default not watched */
  readonly uncaught?: true | undefined;
  /** Lines of work that failed, from before it failed. @default not asked for */
  readonly failed?: true | undefined;
  /** Lines of work that took at least this long: `2s`, `500ms`, at most `60m`. @default not asked for */
  readonly slowerThan?: string | undefined;
}
