import { readFileSync } from 'node:fs';
import { adoptOptions } from '../adopt/options.ts';
import { processAdoption } from '../adopt/process.ts';
import { gate } from '../gate/gate.ts';
import type { RdcpConfig } from '../options.ts';

/** The option `adopt`. The main thread has validated the file: to do so again would take twice as long as all the rest here. */
function readOption(path: string | undefined): RdcpConfig['adopt'] {
  if (path === undefined || path === '') return true;
  try {
    return (JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, '')) as RdcpConfig | null)?.adopt ?? true;
  } catch {
    return false;
  }
}

// Adopts libraries in a worker thread while the main thread's control plane is enabled. Reports nothing: the main thread does.
const options = adoptOptions(readOption(process.env.RDCP_CONFIG), true);
let leave: (() => void) | undefined;
gate.onControlled((controlled) => {
  leave?.();
  leave = controlled ? processAdoption(gate).join({ options, warn: () => {} }) : undefined;
});
