import { failureCode } from '../../wire/errors.ts';

/** The part of an exported log record that is the same on both lines, 2.x and 3.x. */
export interface ExportedRecord {
  /** Seconds and nanoseconds since the epoch. */
  readonly hrTime: readonly [number, number];
  readonly body?: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly severityText?: string | undefined;
  readonly spanContext?: { readonly traceId: string; readonly spanId: string } | undefined;
}

interface ExportResult {
  /** 0 for success. */
  readonly code: number;
  readonly error?: unknown;
}

interface Exporter {
  export(records: readonly ExportedRecord[], done: (result: ExportResult) => void): void;
}

/** @param failed the reason, for operators to read; `undefined` after a success */
type Listener = (failed: string | undefined, records: readonly ExportedRecord[]) => void;

/** Results of the log exports of an SDK that this package has started. */
export class LogExports {
  readonly #listeners = new Set<Listener>();

  /** Makes an exporter of this package report its results, each before the SDK gets it. Returns the exporter. */
  watch<T extends Exporter>(exporter: T): T {
    const send = exporter.export;
    exporter.export = (records, done) =>
      send.call(exporter, records, (result) => {
        const failed = result.code === 0 ? undefined : problemOf(result.error);
        for (const listener of this.#listeners) listener(failed, records);
        done(result);
      });
    return exporter;
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

function problemOf(error: unknown): string {
  const status = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return `log records cannot be exported${typeof status === 'number' ? ` (status ${status})` : failureCode(error)}`;
}
