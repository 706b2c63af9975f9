// The shop's remote control where OpenTelemetry's SDK is not installed: the endpoint, and debug lines on stderr.

import { createRdcp } from 'opentelemetry-instrumentation-rdcp';

const SDK = '@opentelemetry/sdk-node';
const { RDCP_PORT, RDCP_STORE = 'memory:', RDCP_RECORD } = process.env;

async function open(): Promise<void> {
  const rdcp = createRdcp({
    server: { port: Number(RDCP_PORT || 9465) },
    store: RDCP_STORE,
    ...(RDCP_RECORD && { recorder: { categories: RDCP_RECORD.split(',') } }),
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void rdcp.close());
  await rdcp.listen();
  console.error(
    `rdcp: no metrics without OpenTelemetry's SDK: npm install opentelemetry-instrumentation-rdcp ${SDK} first`,
  );
}

open().catch(({ message }: Error) => console.error(`rdcp: no remote control: ${message}`));
