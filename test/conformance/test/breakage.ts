import type { Fault } from './handler.ts';
import type { ReferenceOptions } from './reference-server.ts';

/** A fault, and the checks that must find it. */
export interface Breakage {
  readonly finds: readonly string[];
  readonly fault: Fault;
  readonly server?: ReferenceOptions;
  /** A main credential that the reference server would not take; the fault lets it in. */
  readonly key?: string;
}

export function breaks(finds: string, fault: Fault, more: Omit<Breakage, 'finds' | 'fault'> = {}): Breakage {
  return { finds: finds.split(' '), fault, ...more };
}

/** `L1-MALF-01 L1-MALF-02 …` */
export function range(start: string, from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `${start}${String(from + index).padStart(2, '0')}`).join(
    ' ',
  );
}
