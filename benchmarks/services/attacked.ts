// A host under attack: a bare server of Node, or the endpoint with the limits that it has by default. Tells how its event loop
// was delayed.

import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { LoopDelay } from '../load/protocol.ts';
import { built } from '../measurement.ts';
import { API_KEY_HASH, ATTACKER_HASH, CATEGORIES } from './identities.ts';

const RESOLUTION_MS = 1;
/** As long as a refusal of the endpoint. */
const ANSWER = JSON.stringify({ filler: 'x'.repeat(250) });

const [kind, certFile, keyFile] = process.argv.slice(2);
const tls = certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined;

async function listenBare(): Promise<number> {
  const answer = ((_req, res) => {
    res.statusCode = 429;
    res.setHeader('Content-Type', 'application/json');
    res.end(ANSWER);
  }) as RequestListener;
  const server =
    tls === undefined
      ? createServer(answer)
      : createSecureServer(
          { allowHTTP1: true, cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
          answer as never,
        );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function listenEndpoint(): Promise<number> {
  const { createRdcp }: typeof import('../../src/index.ts') = await import(built('index.js'));
  const rdcp = createRdcp({
    server: { port: 0, ...(tls !== undefined && { tls }) },
    logger: { info() {}, warn() {}, error() {} },
    security: {
      apiKeys: ['benchmark', 'attacker'].map((clientId, index) => ({
        id: clientId,
        hash: index === 0 ? API_KEY_HASH : ATTACKER_HASH,
        clientId,
        scopes: ['status' as const],
      })),
    },
  });
  for (const name of CATEGORIES) rdcp.category(name);
  return Number(new URL((await rdcp.listen()).url).port);
}

const port = await (kind === 'bare' ? listenBare() : listenEndpoint());
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
process.on('message', () => {
  // Node records the time between two runs of its timer, which holds the timer's own interval.
  const milliseconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  process.send?.({ p99: milliseconds(delay.percentile(99)), max: milliseconds(delay.max) } satisfies LoopDelay);
  delay.reset();
});
process.on('disconnect', () => process.exit());
process.send?.({ port });
