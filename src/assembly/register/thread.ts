import { readFileSync } from 'node:fs';
import { adoptOptions } from '../../adopt/options.ts';
import { processAdoption } from '../../adopt/process.ts';
import { gate } from '../../gate/gate.ts';
import type { RdcpConfig } from '../../options/options.ts';

/** The file of options. The main thread has validated it: to do so again would take twice as long as all the rest here. */
function readConfig(path: string | undefined): Pick<RdcpConfig, 'adopt' | 'emit' | 'recorder'> {
  if (path === undefined || path === '') return {};
  try {
    return (JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, '')) as RdcpConfig | null) ?? {};
  } catch {
    return { adopt: false };
  }
}

// Adopts libraries in a worker thread while the main thread's control plane is enabled. Reports nothing: the main thread does.
const { adopt = true, emit: { redact = [] } = {}, recorder: { guards } = {} } = readConfig(process.env.RDCP_CONFIG);
const options = adoptOptions(adopt, true);
let leave: (() => void) | undefined;
gate.onControlled((controlled) => {
  leave?.();
  leave = controlled ? processAdoption(gate).join({ options, warn: () => {}, redact, guards }) : undefined;
});
