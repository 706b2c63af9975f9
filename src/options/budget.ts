/** How many calls a category that is on may emit. Calls beyond are dropped before anything of them is built, and counted. */
export interface RateBudgetOptions {
  /** Calls a second, from 1 to 1000000. @default 500 */
  readonly callsPerSecond?: number | undefined;
  /** Calls at once after a quiet time, from 1 to 1000000. @default twice `callsPerSecond` */
  readonly burst?: number | undefined;
  /** Bytes a second of messages and attributes, from 1024 to 1073741824. @default no limit for a single category */
  readonly bytesPerSecond?: number | undefined;
}

/** How much all categories of a process may emit together. */
export interface ProcessBudgetOptions {
  /** Calls a second, from 1 to 1000000. @default 2000 */
  readonly callsPerSecond?: number | undefined;
  /** Bytes a second of messages and attributes, from 1024 to 1073741824. @default 1048576 (1 MiB) */
  readonly bytesPerSecond?: number | undefined;
}

/** The budgets of categories: of each of them, of single ones by name, and of all together. */
export interface BudgetOptions extends RateBudgetOptions {
  /** Budgets of single categories by name, over those of all; `false`: no limit, not even the process's. @default {} */
  readonly categories?: Readonly<Record<string, RateBudgetOptions | false>> | undefined;
  /** The budget of all categories together; `false` for none. @default a budget of 2,000 calls and 1 MiB a second */
  readonly process?: ProcessBudgetOptions | false | undefined;
}
