import type { TailInstance } from '../protocol/streams.ts';

/** The calls that a tap takes. */
export interface TapFilter {
  /** Names; those that are registered later count too. */
  readonly categories: readonly string[];
  /** Calls of this tenant alone. @default all calls */
  readonly tenantId?: string | undefined;
}

/** What a tail takes in each process. */
export interface LineSpec extends TapFilter {
  /** Most lines a second. */
  readonly rate: number;
  /** Whether lines go to the process's own outputs too. */
  readonly log: boolean;
}

/** Lines of one process. */
export interface LineBatch {
  /** Each a `TailLine` as JSON. */
  readonly lines: readonly string[];
  /** Lines dropped since the last batch. */
  readonly dropped: number;
}

/** What one process measured of a category. */
export interface Measured {
  readonly calls: number;
  /** Of all calls, from those that were built. */
  readonly bytes: number;
  /** Calls that the budget would have dropped. */
  readonly dropped: number;
}

/** What one process measured. */
export interface ProcessForecast {
  readonly seconds: number;
  /** By category. */
  readonly categories: Readonly<Record<string, Measured>>;
}

/** Receives what the processes of the fleet send. */
export interface LineReceiver {
  lines(batch: LineBatch): void;
  instance(change: TailInstance): void;
}
