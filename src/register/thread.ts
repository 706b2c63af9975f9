import { adoptOptions } from '../adopt/options.ts';
import { processAdoption } from '../adopt/process.ts';
import { configFromEnvironment, type Environment, type ReadFile } from '../environment.ts';
import { gate } from '../gate/gate.ts';
import type { RdcpConfig } from '../options.ts';

/** Adopts libraries in a worker thread while the main thread's control plane is enabled. Reports nothing: the main thread does. */
export function adoptInThread(env: Environment, readFile: ReadFile): void {
  let adopt: RdcpConfig['adopt'];
  try {
    ({ adopt } = configFromEnvironment(env, readFile));
  } catch {
    return;
  }
  const options = adoptOptions(adopt, true);
  let leave: (() => void) | undefined;
  gate.onControlled((controlled) => {
    leave?.();
    leave = controlled ? processAdoption(gate).join({ options, warn: () => {} }) : undefined;
  });
}
