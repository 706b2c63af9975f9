import type { CallCounts } from '../../wire/call-counts.ts';
import type { TailInstance } from '../../wire/streams.ts';
import type { Instances } from '../../wire/target.ts';
import type { Part } from '../emit/selection.ts';
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

/** The categories that were called, of one process or of several. */
export type CountsByCategory = Readonly<Record<string, CallCounts>>;

export interface PastRequest {
  /** How far back, in seconds. */
  readonly since: number;
  /** Most pieces of work. */
  readonly limit: number;
  /** Also work without a line of the categories. @default false */
  readonly all?: boolean | undefined;
}

/** Receives what the processes of the fleet send. */
export interface LineReceiver {
  lines(batch: LineBatch): void;
  instance(change: TailInstance): void;
}
