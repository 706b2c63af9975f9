// Every night: installs the oldest SDK.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { installInto, packInto } from '../package/consumer.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';

/** The oldest release that the package accepts, whose SDK takes a single metric reader, in an application that has it. */
const OLDEST = {
  '@opentelemetry/api': '1.9.1',
  '@opentelemetry/auto-instrumentations-node': '0.57.1',
  '@opentelemetry/sdk-node': '0.200.0',
};

/** Reads the metrics until those of this package are there. */
const APP = `
const address = 'http://localhost:' + process.env.OTEL_EXPORTER_PROMETHEUS_PORT + '/metrics';
let text = '';
for (const end = Date.now() + 15_000; Date.now() < end && !text.includes('rdcp_debug_calls_total{'); ) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  text = await fetch(address).then((response) => response.text(), String);
}
console.log(text);
process.exit();`;

test('the package, added to a service with the oldest supported SDK, has metrics that can be scraped', async (t) => {
  const directory = newFolder(t);
  const consumer = await installInto(join(directory, 'service'), await packInto(directory), OLDEST, { alone: true });
  const [metrics, port] = [await freePort(), await freePort()];
  const { stdout } = await consumer.node(APP, {
    args: ['--import', 'opentelemetry-instrumentation-rdcp/register'],
    env: { OTEL_EXPORTER_PROMETHEUS_PORT: String(metrics), RDCP_PORT: String(port) },
  });
  assert.match(stdout, /^rdcp_debug_calls_total\{/m);
});
