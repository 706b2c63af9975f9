import type { OwnLine } from '../gate/types.ts';

/** What the outputs of a logger do with a line, by the logger's own levels. */
export type Reach =
  /** Every output takes it. */
  | 'open'
  /** An output holds it back that takes less urgent lines while the category is on. */
  | 'withheld'
  /** No output takes it, whatever the category says. */
  | 'nowhere'
  /** Only the logger behind this one knows. */
  | 'unknown';

/** A line that a logger is called for. */
export interface LoggerLine extends OwnLine {
  /** Among ours (`gate/levels.ts`). @default debug */
  readonly level?: number;
  /** @default the logger has no levels: nothing but the category decides */
  readonly reach?: Reach | undefined;
}

/** A call of a logger with levels. */
export interface LoggerCall extends LoggerLine {
  readonly level: number;
  readonly reach: Reach;
  /** Whether the level is below INFO: other lines belong to the application, and are held back only by a control's level. */
  readonly isDebug: boolean;
}

/** What becomes of a call. */
export type Verdict =
  /** The logger does not write the line. */
  | 'drop'
  /** The logger does what it does without us. */
  | 'native'
  /** The logger writes the line by its own levels, with secrets masked, because its category is on. */
  | 'masked'
  /** The logger writes the line against its own levels, with secrets masked. Without us there is no line, and so no error. */
  | 'forced';
