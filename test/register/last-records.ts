import assert from 'node:assert/strict';
import { built } from '../support/built.ts';
import { announced, enable, KEY, type start } from './running.ts';

/** A refusal without a valid credential waits to be counted with others; it is written at the end of the process. */
export const ALL = ['enable', 'authenticate', 'rdcp.audit.checkpoint'];

export const OWN_SDK = `
  import { NodeSDK } from '${import.meta.resolve('@opentelemetry/sdk-node')}';
  import { RdcpInstrumentation } from '${built('index.js')}';
  const instrumentation = new RdcpInstrumentation({
    server: { port: 0 },
    security: { apiKeys: [{
      id: 'k', clientId: 'k', scopes: ['control'],
      hash: 'sha256:' + (await import('node:crypto')).createHash('sha256').update('${KEY}').digest('hex'),
    }] },
  });
  const sdk = new NodeSDK({ instrumentations: [instrumentation] });
  sdk.start();
  category('PAYMENTS');
  console.error('rdcp: remote control on ' + (await instrumentation.listen()).url);
  process.stdin.resume();`;

export async function refusedAndSwitched(run: Awaited<ReturnType<typeof start>>): Promise<void> {
  const { url } = await announced(run);
  assert.equal(await enable(url, 'another-key-that-was-never-issued!'), 401);
  assert.equal(await enable(url), 200);
}
