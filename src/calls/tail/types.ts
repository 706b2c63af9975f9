import type { CallCounts } from '../../wire/call-counts.ts';
import type { TailInstance } from '../../wire/streams.ts';
import type { Instances } from '../../wire/target.ts';
import type { Part } from '../emit/selection.ts';
import type { PastWork } from '../recorder/types.ts';
import type { Line } from './line.ts';

/** The calls that a tap takes. */
export interface TapFilter extends Part {
  /** Names; those that are registered later count too. */
  readonly categories: readonly string[];
  /** Calls in these processes alone. @default all processes */
  readonly instances?: Instances | undefined;
}

/** The lines that a tail takes in each process. */
export interface LineSpec extends TapFilter {
  /** Most lines a second. */
  readonly rate: number;
  /** Whether lines go to the process's own outputs too. */
  readonly log: boolean;
  /** First the lines that each process has recorded in so many seconds. @default none */
  readonly since?: number | undefined;
}

/** Lines of one process. */
export interface LineBatch {
  readonly lines: readonly Line[];
  /** Lines dropped since the last batch. */
  readonly dropped: number;
}

/** Measurement of a category in one process. */
export interface Measured {
  readonly calls: number;
  /** For all calls, extrapolated from those that were built. */
  readonly bytes: number;
  /** Calls that the budget would have dropped. */
  readonly dropped: number;
  /** Absent from a process of a release that does not count them. */
  readonly counts?: CallCounts | undefined;
}

/** The categories that were called, of one process or of several. */
export type CountsByCategory = Readonly<Record<string, CallCounts>>;

/** Measurements of one process. */
export interface ProcessForecast {
  readonly seconds: number;
  /** The key is the category's name. */
  readonly categories: Readonly<Record<string, Measured>>;
}

export interface PastRequest {
  /** How far back, in seconds. */
  readonly since: number;
  /** Most pieces of work. */
  readonly limit: number;
  /** Also work without a line of the categories. @default false */
  readonly all?: boolean | undefined;
}

/** What one process has recorded of work that failed or was slow. */
export interface ProcessFailures {
  readonly service: string;
  readonly works: readonly PastWork[];
  /** Whether older ones match. */
  readonly more: boolean;
  /** How far back it reaches, in seconds. Absent while it keeps nothing. */
  readonly reach?: number | undefined;
}

/** Receives what the processes of the fleet send. */
export interface LineReceiver {
  lines(batch: LineBatch): void;
  instance(change: TailInstance): void;
}
