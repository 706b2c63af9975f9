import { SettingFault } from '../../wire/errors.ts';

/** Largest document, in bytes. */
export const MAX_BYTES = 65_536;

export interface Source {
  /** Name of its setting, for messages. */
  readonly field: string;
  /**
   * Returns the document; `undefined` where there is none.
   * @throws {SettingFault} when that cannot be known
   */
  read(): Promise<string | undefined>;
}

export function tooLarge(): SettingFault {
  return new SettingFault(`has more than ${MAX_BYTES} bytes`);
}
