import type { AdoptOptions } from '../options/adopt.ts';
import type { SourceOption } from './types.ts';

/** Everything that is adopted by `adopt: true`. */
export const ALL: Readonly<Record<SourceOption, true>> = {
  debug: true,
  pino: true,
  winston: true,
  nest: true,
  debuglog: true,
  channels: true,
  otel: true,
};

/** The option `adopt` with each source spelled out. @param others whether sources that it does not name are adopted */
export function adoptOptions(given: boolean | AdoptOptions | undefined, others = false): AdoptOptions {
  if (given === false) return {};
  if (given === true) return ALL;
  return { ...(others ? ALL : {}), ...given };
}
