/** What an alert switches on. */
export interface AlertOptions {
  /** Name of the rule in the audit trail: 1 to 100 letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /**
   * Labels that an alert must have, all of them: name to value. A `*` at the end of a value matches any ending.
   * @default none; then `when` must say what is measured
   */
  readonly match?: Readonly<Record<string, string>> | undefined;
  /** Names of the categories that are switched on, at most 100. */
  readonly enable: readonly string[];
  /**
   * How long they stay on unless the alert is resolved before, counted from its first notification. At most
   * `controls.maxDuration`.
   */
  readonly for: number | string;
  /**
   * The tenant for which they are switched on; needs `tenancy`.
   * @default all tenants
   */
  readonly tenant?: string | undefined;
  /**
   * Whose work they are on for, in which processes, such as `{ match: { 'http.route': '/orders' } }`.
   * @default all work
   */
  readonly target?: AlertTargetOptions | undefined;
  /**
   * The lines that are written. All that is given must hold.
   * @default all lines
   */
  readonly filter?: AlertFilterOptions | undefined;
  /**
   * What switches them on in place of `match`: one of `errorRate`, `eventLoopDelay` and `uncaught`; and which work has its lines
   * written while they are on: `failed`, `slowerThan`.
   * @default whatever `match` says; all work
   */
  readonly when?: AlertWhenOptions | undefined;
  /**
   * Pause after the end, in which the same alerts switch nothing.
   * @default '10m'
   */
  readonly cooldown?: number | string | undefined;
}

/** Whose work, in which processes. */
export interface AlertTargetOptions {
  /**
   * Attributes of the work, 1 to 4: name to value. A `*` at the end of a value matches any ending.
   * @default all work
   */
  readonly match?: Readonly<Record<string, string>> | undefined;
  /**
   * These processes alone. All that is given must hold.
   * @default all processes
   */
  readonly instances?: AlertInstancesOptions | undefined;
}

/** Which processes, of those that have one of the categories. */
export interface AlertInstancesOptions {
  /**
   * Ids of the processes, or `host:pid`.
   * @default any
   */
  readonly ids?: readonly string[] | undefined;
  /**
   * The version of the service (`service.version`).
   * @default any
   */
  readonly version?: string | undefined;
  /**
   * So many of them.
   * @default all
   */
  readonly count?: number | undefined;
  /**
   * A share of them in percent, and at least one: above 0, up to 100.
   * @default 100
   */
  readonly percent?: number | undefined;
}

/** The lines that are written. */
export interface AlertFilterOptions {
  /**
   * An expression of the Common Expression Language, such as `rows > 1000`, at most 512 bytes.
   * @default any attributes
   */
  readonly where?: string | undefined;
  /**
   * The message, with `*` for any characters.
   * @default any message
   */
  readonly text?: string | undefined;
  /**
   * A share of the traces, and of the calls without a trace: above 0, up to 1.
   * @default 1
   */
  readonly sample?: number | undefined;
}

/** What switches the categories of an alert on, and which work has its lines written. */
export interface AlertWhenOptions {
  /**
   * Switched on while so many of all pieces of work that ended have failed: a share above 0, up to 1. Fewer than 20 in
   * that time are no alert.
   * @default not measured
   */
  readonly errorRate?: number | undefined;
  /**
   * The time of `errorRate`, up to its end now: at most `1h`.
   * @default '1m'
   */
  readonly over?: number | string | undefined;
  /**
   * `errorRate` counts requests too whose connection was closed before the answer: a client that hangs up can cause that.
   * @default they do not count, neither as failed nor as ended
   */
  readonly aborted?: true | undefined;
  /**
   * Switched on while the event loop is delayed so long, such as `200ms`: 99th percentile of the last few seconds.
   * @default not measured
   */
  readonly eventLoopDelay?: string | undefined;
  /**
   * Switched on by an exception or a rejection that the application does not catch, and survives.
   * @default not watched
   */
  readonly uncaught?: true | undefined;
  /**
   * Lines of work that failed, from before it failed.
   * @default not asked for
   */
  readonly failed?: true | undefined;
  /**
   * Lines of work that took at least this long: `2s`, `500ms`, at most `60m`.
   * @default not asked for
   */
  readonly slowerThan?: string | undefined;
}
