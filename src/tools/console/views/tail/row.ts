import type { RecordedWork } from '../../../../wire/line-text.ts';
import type { TailLine } from '../../../../wire/streams.ts';

/** What the list of a tail shows. */
export type Row = { readonly id: number } & (
  | {
      readonly kind: 'line';
      /** Without what it says about its work. */
      readonly line: TailLine;
      /** When the call was made, in milliseconds since the epoch. */
      readonly at: number;
      /** The same in the browser's zone: hours, minutes, seconds and milliseconds. */
      readonly clock: string;
      /** Name of its process. */
      readonly process: string;
      /** Its attributes on one line. */
      readonly attributes: string;
      /** The work that it was recorded for, which failed or was slow. */
      readonly work: RecordedWork | undefined;
      /** How many equal lines it stands for. @default 1 */
      readonly times?: number;
    }
  /** Status messages of the tail, between the lines. */
  | { readonly kind: 'note'; readonly text: string; readonly isWarning: boolean; readonly at: number }
  /** Lines of a trace or of a piece of work, before the first of them. */
  | { readonly kind: 'group'; readonly key: string; readonly lines: readonly LineRow[]; readonly isOpen: boolean }
);

export type LineRow = Extract<Row, { kind: 'line' }>;
export type GroupRow = Extract<Row, { kind: 'group' }>;
