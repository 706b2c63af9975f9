/** Largest document, in bytes. */
export const MAX_BYTES = 65_536;

/** Where a document is read. */
export interface Source {
  /** Name of its setting, for messages. */
  readonly field: string;
  /**
   * Returns the document; `undefined` where there is none.
   * @throws {SourceFault} when that cannot be known
   */
  read(): Promise<string | undefined>;
}

/** The message follows the name of the setting, and has no path and no address. */
export class SourceFault extends Error {}

export function tooLarge(): SourceFault {
  return new SourceFault(`has more than ${MAX_BYTES} bytes`);
}
