import { accessFaults } from './access-faults.ts';
import { controlFaults } from './control-faults.ts';
import { enterpriseFaults, standardFaults } from './level-faults.ts';
import { readingFaults, wellKnownFaults } from './reading-faults.ts';

/** Faults for the reference server, by the level that it declares. */
export const specifiedFaults = {
  basic: [...wellKnownFaults, ...readingFaults, ...controlFaults, ...accessFaults],
  standard: standardFaults,
  enterprise: enterpriseFaults,
} as const;
