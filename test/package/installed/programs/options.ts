// Every configuration is taken, each alone in its process.

import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';
import { CONFIGURATIONS } from './configurations.ts';

for (const configuration of CONFIGURATIONS) {
  try {
    await createRdcp(configuration as RdcpConfig).close();
  } catch (error) {
    throw new Error(JSON.stringify(configuration), { cause: error });
  }
}
