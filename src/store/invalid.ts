import { invalidSetting, type RdcpError } from '../wire/errors.ts';

/** An error for a `store` that cannot be used; the problem follows in one line, without a path. */
export function invalidStore(problem: string, cause?: unknown): RdcpError {
  return invalidSetting('store', `configuration: store: ${problem}`, cause);
}
