// Faults that no test can notice, because nobody could: the runner leaves them out.

export interface Equivalent {
  readonly file: string;
  /** The line, as it stands. */
  readonly line: string;
  readonly instead: string;
  readonly because: string;
}

export const EQUIVALENTS: readonly Equivalent[] = [];
